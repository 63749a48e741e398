import ast,sys,pathlib
tot={}
for f in sys.argv[1:]:
    t=ast.parse(open(f).read())
    for n in t.body:
        if isinstance(n,(ast.Import,ast.ImportFrom)): k='import'
        elif isinstance(n,(ast.FunctionDef,ast.AsyncFunctionDef)): k='test' if n.name.startswith('test') else 'func'
        elif isinstance(n,ast.ClassDef): k='class'
        else: k='other'
        start=min([n.lineno]+[d.lineno for d in getattr(n,'decorator_list',[])])
        tot[k]=tot.get(k,0)+n.end_lineno-start+1
        tot['n_'+k]=tot.get('n_'+k,0)+1
    tot['lines']=tot.get('lines',0)+len(open(f).read().splitlines())
print(tot)
