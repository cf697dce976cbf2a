import { type Chapter, linesOf } from './lines.ts'

/** Labels, annotations and taints, and flags that exclude each other: compared with v1.36 alone, whose words they are. */
export const marking: Chapter = {
  name: 'labels, annotations and taints',
  byHand: true,
  lines: linesOf(`
    create cm one --from-literal=a=b
    create cm two --from-literal=a=c
    label cm one x=1
    label cm one x=1 y=2
    label cm one y- z-
    label cm one y-
    label cm one x=2
    label cm one x=2 --overwrite z=1
    label cm one x=3 z- --overwrite
    label cm one --list
    label cm one --list x=9
    label cm --list
    label cm --list --all
    label cm --all --list -o name
    label cm one --list -o name
    label cm one -o name
    label cm one -o foo x=3
    label cm one x=3 -o foo --list
    label cm one =x
    label cm one x=y=z
    label cm one x=-
    label cm one x-=1
    label cm one -- -x=1
    label cm one ''
    label cm one x
    label cm one x q=1
    label cm one q=1 x
    label cm one q=1 q-
    label cm one q=1 q- --list -o name
    label cm one q='a b'
    label cm one 'a b=1'
    label cm one 'a b-'
    label cm one /=1
    label cm one a/b/c=1
    label cm --all -l x=1 q=1
    label cm --all --field-selector metadata.name=one q=1
    label cm -l x=nosuch q=1
    label cm -l x=1 --field-selector metadata.name=one w=1
    label cm one --all q=1
    label cm one -l x=1 q=1
    label cm/one q=1
    label cm/one cm/two q=2 --overwrite
    label cm/one cm/nosuch q=3 --overwrite
    label q=1
    label --local q=1
    label cm one --local q=1
    label --local -f {dir}/cm.yaml q=1
    label --local -f {dir}/cm.yaml q=1 --dry-run=server
    label --local -f {dir}/cm.yaml q=1 --dry-run=client
    label --local -f {dir}/cm.yaml q=1 -o yaml
    label --local -f {dir}/cm.yaml --list
    label -f {dir}/cm.yaml q=1
    label -f {dir}/cm.yaml cm q=1
    label -f {dir}/cm.yaml cm one q=1
    label -f {dir}/cm.yaml cm/one q=1
    label cm one q=4 --overwrite --dry-run=foo
    label cm one q=4 --overwrite --dry-run=client
    label cm one q=4 --overwrite --dry-run=server
    label cm one q=4 --overwrite --dry-run=client -o name
    label cm one nosuch- --dry-run=client
    label cm one nosuch- --dry-run=server
    label cm one q=4 --overwrite --resource-version=1
    label cm one two q=4 --overwrite --resource-version=1
    label cm --all q=4 --overwrite --resource-version=1
    label cm one q=5 --overwrite=false
    label cm one q=5 x=7 z=8
    label cm one q=5 w=1
    label nosuch one q=1
    label cm nosuch q=1
    label cm one two nosuch r=1
    label cm -A q=1
    label cm one -A q=1
    label cm -A -l x=nosuch q=1
    label cm --all m=1
    label cm --all m-
    label cm --all m-
    label
    label cm
    label cm one
    annotate cm one a=1
    annotate cm one a=1 b=2
    annotate cm one b- c-
    annotate cm one a=2
    annotate cm one a=2 --overwrite z=1
    annotate cm one a=3 z- --overwrite
    annotate cm one --list
    annotate cm one --list a=9
    annotate cm --list
    annotate cm two --list
    annotate cm --all --list -o name
    annotate cm one --list -o name
    annotate cm one -o name
    annotate cm one -o foo x=3
    annotate cm one =x
    annotate cm one x=y=z
    annotate cm one x=-
    annotate cm one x-=1
    annotate cm one q=1 x
    annotate cm one q=1 q-
    annotate cm one q=1 q- --list -o name
    annotate cm one 'a b=1'
    annotate cm one a/b/c=1
    annotate cm --all -l x=1 q=1
    annotate cm --all --field-selector metadata.name=one q=1
    annotate cm -l x=nosuch q=1
    annotate cm one --all q=1
    annotate cm one -l x=1 q=1
    annotate cm/one q=1
    annotate cm/one cm/two q=2 --overwrite
    annotate q=1
    annotate --local q=1
    annotate cm one --local q=1
    annotate --local -f {dir}/cm.yaml q=1
    annotate --local -f {dir}/cm.yaml q=1 --dry-run=server
    annotate --local -f {dir}/cm.yaml q=1 -o yaml
    annotate --local -f {dir}/cm.yaml --list
    annotate cm one q=4 --overwrite --dry-run=foo
    annotate cm one q=4 --overwrite --dry-run=client
    annotate cm one q=4 --overwrite --dry-run=server
    annotate cm one nosuch- --dry-run=client
    annotate cm one nosuch-
    annotate cm one q=4 --overwrite --resource-version=1
    annotate cm one two q=4 --overwrite --resource-version=1
    annotate cm one q=5 a=7
    annotate cm one q=5 w=1
    annotate nosuch one q=1
    annotate cm nosuch q=1
    annotate cm -A q=1
    annotate
    annotate cm
    annotate cm one
    label cm '' q=1
    get cm ''
    get '' one
    get ''
    delete cm ''
    describe cm ''
    label '' one q=1
    edit cm ''
    scale deploy '' --replicas=1
    patch cm '' -p {}
    apply view-last-applied cm
    apply view-last-applied cm one
    apply view-last-applied cm --all
    apply view-last-applied cm one --all
    apply view-last-applied cm -l x=1
    apply view-last-applied cm --all -l x=1
    apply view-last-applied
    apply view-last-applied --all
    delete cm one --all
    delete cm/one --all
    delete cm --all -l x=1
    delete cm --all --field-selector x=1
    delete cm,secret one -l x=1
    delete --all
    delete -l x=1
    get cm,secret one -l x=1
    get nosuch one -l x=1
    get -f {dir}/cm.yaml cm
    get -f {dir}/cm.yaml cm/one
    get -f {dir}/nosuch.yaml cm/one
    get -f {dir}/cm.yaml cm one
    scale deploy one --all --replicas=1
    scale deploy --all --replicas=1
    scale deploy --replicas=1
    set image deploy one --all a=b
    set image deploy --all a=b
    set image deploy a=b
    set image deploy/one --all a=b
    set image deploy one -l x=1 a=b
    set image deploy --all -l x=1 a=b
    set env deploy one --all a=b
    set serviceaccount deploy one --all a
    describe cm one -l x=1
    describe cm/one -l x=1
    rollout status deploy one -l x=1
    rollout restart deploy/one -l x=1
    get cm -l ' '
    taint
    taint nodes
    taint nodes sim-node-1
    taint k=v:NoSchedule
    taint nodes k=v:NoSchedule
    taint nodes sim-node-1 k
    taint nodes sim-node-1 k=v
    taint nodes sim-node-1 k=v:
    taint nodes sim-node-1 k:
    taint nodes sim-node-1 :NoSchedule
    taint nodes sim-node-1 =v:NoSchedule
    taint nodes sim-node-1 k=v:Foo
    taint nodes sim-node-1 k=v:noschedule
    taint nodes sim-node-1 k=v:NoSchedule:x
    taint nodes sim-node-1 k=v=w:NoSchedule
    taint nodes sim-node-1 'k k=v:NoSchedule'
    taint nodes sim-node-1 'k=v v:NoSchedule'
    taint nodes sim-node-1 k:NoSchedule --dry-run=client
    taint nodes sim-node-1 k=v:NoSchedule --dry-run=client
    taint nodes sim-node-1 k=v:NoSchedule --dry-run=server
    taint nodes sim-node-1 k=v:NoSchedule k=w:NoSchedule --dry-run=client
    taint nodes sim-node-1 k=v:NoSchedule k=w:NoExecute --dry-run=client -o jsonpath={.spec.taints}
    taint nodes sim-node-1 k=v:NoSchedule k- --dry-run=client
    taint nodes sim-node-1 k=v:NoSchedule k:NoSchedule- --dry-run=client
    taint nodes sim-node-1 k=v:NoSchedule k:NoExecute- --dry-run=client
    taint nodes sim-node-1 k-
    taint nodes sim-node-1 k=v-
    taint nodes sim-node-1 k=v:NoSchedule-
    taint nodes sim-node-1 k:Foo-
    taint nodes sim-node-1 k:-
    taint nodes sim-node-1 -
    taint nodes sim-node-1 :-
    taint nodes sim-node-1 'a b-'
    taint nodes sim-node-1 a- b-
    taint nodes sim-node-1 k=v:NoSchedule x
    taint nodes x -l a=b k=v:NoSchedule
    taint nodes -l a=b k=v:NoSchedule
    taint nodes -l nosuch=b k=v:NoSchedule
    taint nodes sim-node-1 -l nosuch=b k=v:NoSchedule
    taint nodes sim-node-1 --all k=v:NoSchedule --dry-run=client
    taint nodes --all k=v:NoSchedule --dry-run=client
    taint nodes --all -l a=b k=v:NoSchedule
    taint pods x k=v:NoSchedule
    taint nosuch x k=v:NoSchedule
    taint NODES sim-node-1 k=v:NoSchedule --dry-run=client
    taint Node sim-node-1 k=v:NoSchedule --dry-run=client
    taint no sim-node-1 k=v:NoSchedule --dry-run=client
    taint node/sim-node-1 k=v:NoSchedule --dry-run=client
    taint nodes/sim-node-1 sim-node-1 k=v:NoSchedule --dry-run=client
    taint node.v1. sim-node-1 k=v:NoSchedule --dry-run=client
    taint nodes.v1/sim-node-1 k=v:NoSchedule --dry-run=client
    taint nodes.spec sim-node-1 k=v:NoSchedule --dry-run=client
    taint nodes,pods sim-node-1 k=v:NoSchedule --dry-run=client
    taint nodes nosuch k=v:NoSchedule
    taint nodes nosuch sim-node-1 k=v:NoSchedule --dry-run=client
    taint nodes sim-node-1 sim-node-1 k=v:NoSchedule --dry-run=client
    taint nodes sim-node-1 sim-node-2 k=v:NoSchedule --dry-run=client
    taint nodes sim-node-1 k=v:NoSchedule --dry-run=foo
    taint nodes sim-node-1 k=v:NoSchedule --validate=foo
    taint nodes sim-node-1 k=v:NoSchedule --dry-run=client -o foo
    taint nodes sim-node-1 k=v:NoSchedule --dry-run=client -o name
    taint nodes sim-node-1 k=v:NoSchedule --dry-run=client --overwrite
    taint pods x k=v:NoSchedule k-
    taint pods x --all -l a=b k=v:NoSchedule
    taint nodes '' k=v:NoSchedule
    taint '' x k=v:NoSchedule
    taint nodes sim-node-1 k=v:NoSchedule- l=w:NoExecute --dry-run=client
    taint nodes sim-node-1 k=v:PreferNoSchedule --dry-run=client -o yaml
  `),
}
