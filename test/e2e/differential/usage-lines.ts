import { type Chapter, linesOf } from './lines.ts'

export const usage: Chapter = {
  name: 'words of refusal',
  lines: linesOf(`
    get pods --foo
    foo
    gte pods
    get -x
    get pods --output
    get pods -A=x
    get
    36| get pods -o foo
    get nosuch
    get nosuch.apps
    get pod nosuch
    get pod nosuch nosuch2
    get pod nosuch --ignore-not-found
    get po,svc x -l a=b
    get pods x -A
    get po/x/y
    get pods po/x
    get po/x y
    get all x
    get pods -l a=(
    get -f /nonexistent
    get pods --context=nosuch
    get pods --user=nosuch
    get pods --kubeconfig /nonexistent
    get pods -s http://127.0.0.1:1
    create
    create deployment
    create deployment a b --image=c
    create secret foo
    create configmap
    create namespace
    create -f /nonexistent
    delete
    delete pod
    delete pod nosuch
    delete pod nosuch --ignore-not-found
    delete nosuch x
    delete pods --all
    delete pods -l a=b
    delete pod x --cascade=foo
    apply
    apply foo
    apply -f /nonexistent
    apply -f {dir}/cm.yaml --force-conflicts
    apply -f {dir}/cm.yaml --dry-run=foo
    apply -f {dir}/cm.yaml --validate=foo
    config foo
    wait pod/x --timeout=x
    get pods --raw /x
    get pods --subresource=status
    get pods --sort-by={.x
  `),
}
