def run(*a):
    return []
