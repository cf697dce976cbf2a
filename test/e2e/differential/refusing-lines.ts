import { type Chapter, linesOf } from './lines.ts'

/** Changes that are refused, in part or whole, and what is done to the others then; compared with v1.36 alone. */
export const refusing: Chapter = {
  name: 'refused changes',
  byHand: true,
  lines: linesOf(`
    apply -f {dir}/deploy.yaml
    create cm one --from-literal=a=b
    create service clusterip s1 --tcp=80
    create sa builder
    create role r1 --verb=get --resource=pods
    create rolebinding rb --role=r1 --user=u
    apply -f {dir}/described.yaml
    create cm two --from-literal=a=b
    patch
    patch cm
    patch cm one -p ''
    patch cm one -p 'null'
    patch cm one -p '[]'
    patch cm one -p 'a: b: c'
    patch cm one -p '{"data":{"a":1}}'
    patch cm one -p '{"metadata":{"name":"other"}}'
    patch cm one -p '{"kind":"Pod"}'
    patch cm one --type=json -p '{}'
    patch cm one --type=json -p '[{"op":"foo","path":"/x"}]'
    patch cm one --type=json -p '[{"op":"add"}]'
    patch cm one --type=json -p '[{"op":"add","path":"data/x","value":"1"}]'
    patch cm one --type=json -p '[{"op":"test","path":"/data/a","value":"z"}]'
    patch cm one --type=json -p '[{"op":"replace","path":"/data/zz","value":"z"}]'
    patch cm one --type=json -p '[{"op":"copy","from":"/data/a","path":"/data/b"}]'
    patch cm one --type=json -p '[{"op":"move","from":"/data/b","path":"/data/c"}]'
    patch cm one --type=json -p '- {op: add, path: /data/y, value: "1"}'
    patch cm one --type=merge -p '{"data":null}'
    patch cm one --type=merge -p '[1]'
    patch cm one --type=strategic -p '{"data":{"x":"1"}}'
    patch cm one --type= -p '{}'
    patch cm one --patch-file={dir}/nosuch
    patch cm one --patch-file={dir}/cm.yaml -p '{}'
    patch cm one two -p '{"data":{"m":"1"}}'
    patch -f {dir}/nosuch -p '{}'
    patch cm/one secret/x -p '{"data":{"q":"1"}}'
    patch cm one -p '{"data":{"l":"1"}}' --local -o yaml
    patch -f {dir}/cm.yaml --local -p '{"data":{"l":"1"}}' -o yaml
    patch -f {dir}/cm.yaml --local -p '{"data":{"l":"1"}}'
    patch -f {dir}/deploy.yaml --local -p '{"spec":{"template":{"spec":{"containers":[{"name":"main","$patch":"delete"}]}}}}' -o jsonpath={.spec.template.spec.containers[*].name}
    patch cm one -p '{}' --dry-run=foo
    patch cm one -p '{}' --field-manager=
    patch cm one -p '{}' -o foo
    patch cm -l a=b -p '{}'
    patch deploy app -p '{"spec":{"replicas":"x"}}'
    patch deploy app -p '{"spec":{"selector":{"matchLabels":{"z":"z"}}}}'
    patch deploy app -p '{"nosuch":1}'
    set
    set foo
    set image deploy/app
    set image deploy/app main
    set image deploy/app main=
    set image deploy/app =x
    set image deploy/app main=x=y
    set image deploy/nosuch main=x
    set image cm/one main=x
    set image deploy,rs main=nginx:3 --all --dry-run=client
    set image deploy main=x
    set image deploy/app main=nginx:3 side=b --dry-run=client -o name
    set image deploy -l app=app main=nginx:4 --dry-run=server
    set image -f {dir}/deploy.yaml --local main=x
    set env
    set env deploy/app A
    set env deploy/app A=
    set env deploy/app =x
    set env deploy/nosuch A=1
    set env deploy/app --from=cm
    set env deploy/app --from=cm/nosuch
    set env deploy/app --from=cm/one --prefix=P_ --keys=a
    set env deploy/app --from=secret/nosuch
    set env deploy/app --from=pod/x
    set env deploy/app -c nosuch A=1
    set env deploy/app --overwrite=false A=9
    set env cm/one A=1
    set env deploy --all Q=1 --dry-run=client
    set env -f {dir}/deploy.yaml --local W=1 -o jsonpath={..env}
    set env deploy/app --list -o yaml
    set env deploy/app -
    set resources deploy/app --limits=foo
    set resources deploy/app --limits=cpu=
    set resources deploy/app --limits=cpu=x
    set resources deploy/app --limits=foo=1
    set resources deploy/app --limits=cpu=1 -c nosuch
    set resources deploy/nosuch --limits=cpu=1
    set resources cm/one --limits=cpu=1
    set resources deploy/app --requests=cpu=2 --limits=cpu=1
    set resources deploy/app --limits=cpu=0,memory=0 --dry-run=client -o jsonpath={..resources}
    set resources -f {dir}/deploy.yaml --local --limits=cpu=1 -o jsonpath={..resources}
    set selector
    set selector svc s1
    set selector svc/s1 a=b
    set selector svc/s1 foo
    set selector svc/s1 a=b c=d
    set selector svc/nosuch a=b
    set selector deploy/app a=b
    set selector cm/one a=b
    set selector svc/s1 'a in (b)'
    set selector svc/s1 a=b --resource-version=1
    set serviceaccount
    set serviceaccount deploy
    set serviceaccount deploy app
    set sa deploy app default --dry-run=client
    set serviceaccount deploy/app builder
    set serviceaccount cm one default
    set subject rolebinding rb
    set subject rolebinding rb --user=
    set subject rolebinding rb --serviceaccount=foo
    set subject rolebinding rb --serviceaccount=ns:foo
    set subject rolebinding rb --serviceaccount=ns:foo:x
    set subject rolebinding nosuch --user=x
    set subject role r1 --user=x
    set subject cm one --user=x
    set last-applied
    rollout history
    rollout history svc/s1
    rollout history deploy/app --revision=-1
    rollout history deploy/app --revision=x
    rollout history deploy/app -o foo
    rollout undo
    auth can-i
    auth can-i get
    auth can-i get pods x y
    auth can-i get pods/one
    auth can-i get pods/one/two
    auth can-i get pods one
    auth can-i get pods -A one
    auth can-i get pods --subresource=log --list
    auth can-i --list x
    auth can-i --list --as=system:anonymous
    auth can-i get /api --subresource=x
    auth can-i get /x y
    auth can-i delete nosuch.apps
    auth can-i use podsecuritypolicies
    auth can-i '*' pods
    auth can-i get '*'
    auth can-i get pods --as-group=x
    auth can-i get pods --as=x --as-group=system:masters
    auth can-i get pods --as=x --as-uid=1
    auth can-i list pods,svc
    auth can-i get po
    auth can-i get pods.v1
    auth can-i bind clusterroles
    auth can-i approve certificatesigningrequests
    auth foo
    auth
    auth whoami x
    auth whoami -o foo
    auth whoami --as=x
    auth whoami --as=x --as-group=g -o json
    label cm
    label cm one
    label cm one a
    label cm one =b
    label cm one a=b c
    label cm one a-b-
    label cm one a- b=c
    label cm one -a=b
    label cm one A/B/C=d
    label cm one a='x y'
    label cm one a=
    label cm one a= --overwrite
    label cm one two z=1
    label cm one nosuch z=2 --overwrite
    label cm --all
    label cm --all y=1 --dry-run=client -o name
    label cm -l z=1 q=1
    label cm one -l z=1 q=1
    label cm --field-selector=metadata.name=one fs=1
    label cm/one cm/two k=1
    label cm/one secret/x k=1
    label -f {dir}/cm.yaml k=1
    label -f {dir}/deploy.yaml k=1 --local -o jsonpath={.metadata.labels}
    label cm one kk=1 --local
    label nosuch one a=b
    label cm one toolong=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    label cm one example.com/x=1 example.com/x-
    label ns {ns} kubernetes.io/metadata.name=x --overwrite
    label node sim-node-1 rests=1 --dry-run=server
    annotate cm one a
    annotate cm one =b
    annotate cm one a=b=c
    annotate cm one a= 
    annotate cm one a-
    annotate cm one nosuch-
    annotate cm one a=1 a=2
    annotate cm one a=1 a-
    annotate cm --all
    annotate cm --all q=1
    annotate cm one two q=2
    annotate cm one two q=2 --overwrite
    annotate cm one 'a b=c'
    annotate cm one q=1 --resource-version=1
    annotate cm/one --list
    annotate -f {dir}/deploy.yaml k=1 --local -o jsonpath={.metadata.annotations}
    taint
    taint node
    taint nodes sim-node-1 a
    taint nodes sim-node-1 a=b:NoSchedule:x
    taint nodes sim-node-1 =b:NoSchedule
    taint nodes sim-node-1 a=b=c:NoSchedule
    taint nodes sim-node-1 a:NoSchedule --dry-run=client
    taint nodes sim-node-1 a:Foo-
    taint nodes sim-node-1 a=x y:NoSchedule
    taint nodes sim-node-1 a-b-
    taint nodes sim-node-1 a:NoSchedule a:NoSchedule
    taint nodes sim-node-1 a:NoSchedule a:NoSchedule-
    taint nodes sim-node-1 sim-node-2 rests=1:PreferNoSchedule --dry-run=server
    taint nodes --all -l a=b x=y:NoSchedule
    taint nodes -l kubernetes.io/hostname=sim-node-1 rests:NoExecute --dry-run=client
    taint nodes sim-node-1 a/b/c=d:NoSchedule
    taint nodes sim-node-1 a='b c':NoSchedule
    taint cm one a=b:NoSchedule
    taint nodes sim-node-1 a=b:NoSchedule --dry-run=client -o jsonpath={.spec.taints}
    cordon -l nosuch=x
    cordon sim-node-1 -l a=b
    uncordon nosuch
    uncordon -l kubernetes.io/hostname=sim-node-1
    drain sim-node-1 -l a=b
    drain sim-node-1 --pod-selector='a=('
    drain sim-node-1 --pod-selector=nosuch=x --dry-run=client
    drain sim-node-1 --grace-period=x
    drain sim-node-1 --timeout=x
    drain sim-node-1 --skip-wait-for-delete-timeout=x
    drain --all
    drain sim-node-1 --chunk-size=x
    diff -f {dir}/deploy2.yaml
    diff -f {dir}/cm.yaml
    diff -f {dir}/bad.yaml
    diff -f {dir}/deploy2.yaml -f {dir}/cm.yaml
    diff -f {dir}/deploy2.yaml --server-side
    diff -f {dir}/deploy-bad.yaml
    diff -f {dir}/cm.yaml -k {dir}/base
    diff x
    diff -f {dir}/cm.yaml -l app=nosuch
    diff -f {dir}/cm.yaml --concurrency=0
    apply -f {dir}/cm.yaml --prune
    apply -f {dir}/cm.yaml --prune --all
    apply -f {dir}/cm.yaml --prune -l app=cm --all
    apply -f {dir}/cm.yaml --prune-allowlist=core/v1/ConfigMap
    apply -f {dir}/cm.yaml --prune --server-side -l app=cm
    apply -f {dir}/cm.yaml --server-side --dry-run=client
    apply -f {dir}/cm.yaml --server-side --force
    apply -f {dir}/cm.yaml --force --dry-run=server
    apply -f {dir}/cm.yaml --grace-period=1
    apply -f {dir}/cm.yaml --timeout=1s
    apply -f {dir}/cm.yaml --openapi-patch=x
    apply -f {dir}/cm.yaml -l app=nosuch
    apply -f {dir}/cm.yaml --field-manager=x
    apply -f {dir}/cm.yaml --overwrite=false
    apply -f {dir}/cm.yaml -k {dir}/base
    apply -k {dir}/nosuch
    apply -f ''
    apply edit-last-applied cm nosuch
    apply set-last-applied -f {dir}/cm.yaml
    apply set-last-applied -f {dir}/cm2.yaml --create-annotation
    apply set-last-applied -f {dir}/nosuch
    apply set-last-applied -f {dir}/cm3.yaml -o name --dry-run=client
    apply view-last-applied
    apply view-last-applied cm cm
    apply view-last-applied cm cm -o json
    apply view-last-applied cm cm -o foo
    apply view-last-applied cm one
    apply view-last-applied -f {dir}/cm.yaml
    delete cm one two nosuch --wait=false
    delete cm one two --ignore-not-found
    delete cm/one secret/x
    delete cm --all -l a=b
    label cm one z=2
    auth can-i --list -q
    auth can-i impersonate users
    label cm one a=b=c
    taint nodes sim-node-1 a=b:
    taint nodes sim-node-1 -
    taint nodes sim-node-1 a:NoSchedule- b-
    cordon sim-node-1 nosuch --dry-run=client
    cordon cm/one
    drain cm/one
    diff -f {dir}/cm.yaml --concurrency=x
    apply -f {dir}/cm.yaml --cascade=foo
    apply -f {dir}/cm.yaml --subresource=status
    apply -f - -f -
    apply -f {dir}/cm.yaml --dry-run=client
    apply -f {dir}/cm2.yaml --dry-run=client -o yaml
    apply -f {dir}/cm2.yaml --dry-run=client
    apply -f {dir}/deploy2.yaml --dry-run=client -o yaml
    patch cm one -p '"x"'
    patch cm one --type=MERGE -p '{}'
    set image --local deploy/app main=x
    set env deploy/app A=1 A-
    set env deploy/app --resolve A=1
    set env deploy/app -c '*' -e Z=1 --dry-run=client -o jsonpath={..env}
    set env deploy/app 1A=x
    set resources
    set serviceaccount deploy app a b
    set subject
    set subject rolebinding rb --user=x --user=x --group=g --dry-run=client -o yaml
    rollout history deploy/app sts/db
    rollout undo deploy/app --to-revision=-1
    wait cm/one --for=Delete --timeout=0s
    wait cm/nosuch --for=create --timeout=0s
    wait cm --all --for=delete --timeout=0s
    wait cm/one cm/nosuch --for=jsonpath='{.data.a}'=b --timeout=0s
    wait cm/one --for=create --for=jsonpath='{.data.a}'=b --timeout=0s
    create deployment web --image=nginx:1 --replicas=1
    wait deploy/web --for=condition=Available --timeout=60s
    scale deploy/web --replicas=2 --timeout=60s
    scale deploy/web --replicas=1
    scale deploy/web --replicas=2 --dry-run=server
    patch deploy web --subresource=status -p '{"status":{"collisionCount":3}}'
    patch deploy web --subresource=scale --type=merge -p '{"spec":{"replicas":1}}'
    patch deploy web --subresource=foo -p '{}'
    patch deploy nosuch --subresource=status -p '{}'
    patch deploy web --subresource=status -p '{}' --dry-run=client
    apply -f {dir}/cm.yaml
    patch -f {dir}/cm.yaml -p '{"data":{"z":"1"}}'
    patch -f {dir}/cm.yaml -p '{"data":{"z":"1"}}'
    patch -f {dir}/cm.yaml -p '{"data":{"z":"2"}}' --dry-run=client -o yaml
    patch -f {dir}/cm2.yaml -p '{"data":{"z":"2"}}'
    patch cm cm -p '{"data":{"z":"1"}}' --dry-run=client
    patch cm cm -p '{"data":{"z":"1"}}' --dry-run=server
    patch cm cm -p '{}' --dry-run=server
    patch cm cm -p '{}' --dry-run=client
    patch -f {dir}/cm.yaml -p '{}' --local
    patch -f {dir}/cm.yaml -p '{}' --local --dry-run=client
    run x --image=i --dry-run=client --override-type=strategic --overrides='{'
    run x --image=i --dry-run=client --override-type=strategic --overrides='foo'
    run x --image=i --dry-run=client --override-type=merge --overrides='"foo"'
    run x --image=i --dry-run=client --override-type=merge --overrides='1'
    run x --image=i --dry-run=client --override-type=merge --overrides='a: b'
    run x --image=i --dry-run=client --override-type=strategic --overrides='a: b'
    expose service s1 --name=t --port=1 --dry-run=client --overrides='{'
    expose service s1 --name=t --port=1 --dry-run=client --overrides='foo'
  `),
}
