bundle () 
{ 
    out=$1;
    shift;
    rm -f $out;
    for f in "$@";
    do
        echo "=== $f" >> $out;
        python3 - $f >> $out <<'E'
import ast,sys
s=open(sys.argv[1]).read(); L=s.splitlines(); t=ast.parse(s); drop=set()
for n in t.body:
    if isinstance(n,(ast.Import,ast.ImportFrom)): drop.update(range(n.lineno,n.end_lineno+1))
for i,l in enumerate(L,1):
    if i in drop or not l.strip(): continue
    print(l)
E

    done
    wc -c $out
}
