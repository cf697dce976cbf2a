import { type Chapter, linesOf } from './lines.ts'

export const changing: Chapter = {
  name: 'changing objects',
  lines: linesOf(`
    apply -f {dir}/deploy.yaml
    create configmap one --from-literal=a=b
    36| label cm one a=b
    36| label cm one a=b
    label cm one a=c
    36| label cm one a=c --overwrite
    36| label cm one a-
    36| label cm one a-
    label cm one nosuch- a=x
    label cm one a=-x
    label cm one a=1 a-
    label cm one
    label cm
    label
    label cm nosuch a=b
    label cm one b=c --dry-run=client
    label cm one b=c --dry-run=server
    label cm one b=c -o yaml
    36| label cm one a- --overwrite
    label cm --all c=d
    label cm -l a=x d=e
    label cm one z=z --resource-version=1
    annotate cm one a=b
    annotate cm one a=c
    annotate cm one a=c --overwrite
    annotate cm one a-
    annotate cm one
    annotate cm one a='some words' -o jsonpath={.metadata.annotations}
    annotate cm one --list
    patch cm one -p '{"data":{"x":"y"}}'
    patch cm one -p '{"data":{"x":"y"}}'
    patch cm one --type=merge -p 'data: {x: null}'
    patch cm one --type=json -p '[{"op":"add","path":"/data/q","value":"1"}]'
    patch cm one --type=json -p '[{"op":"remove","path":"/data/nosuch"}]'
    patch cm one --type=foo -p '{}'
    patch cm one -p '{'
    patch cm nosuch -p '{}'
    patch cm one
    patch deploy app --subresource=scale --type=merge -p '{"spec":{"replicas":1}}'
    patch deploy app -p '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:9"}]}}}}' --dry-run=client -o jsonpath={.spec.template.spec.containers[*].image}
    scale deploy app --replicas=3
    scale deploy app --replicas=-1
    scale deploy app --current-replicas=9 --replicas=2
    36| scale deploy app --current-replicas=3 --replicas=2
    36| scale deploy nosuch --replicas=2
    scale deploy/app --replicas=1 --dry-run=server
    scale deploy/app --replicas=1 --dry-run=client -o name
    scale deploy
    scale --replicas=2 -f {dir}/deploy.yaml
    scale cm one --replicas=2
    36| autoscale deploy app --max=5
    36| autoscale deploy app --min=2 --max=5 --cpu=80% --name=other
    36| autoscale deploy app --min=2 --max=1
    36| autoscale deploy app --max=3 --memory=500Mi --dry-run=client -o yaml
    autoscale deploy app
    set image deploy/app main=nginx:7
    set image deploy/app main=nginx:7
    set image deploy/app nosuch=nginx:7
    set image deploy/app *=nginx:8
    set image deploy app
    set image
    36| set image -f {dir}/deploy.yaml main=x --local -o yaml
    set image deploy/app main=nginx:6 --dry-run=client -o jsonpath={.spec.template.spec.containers[*].image}
    set env deploy/app A=5 C=6
    set env deploy/app A-
    set env deploy/app --list
    set env deploy/app --list -c main
    set env deploy/app -c side X=1
    set env deploy/app
    set resources deploy app --limits=cpu=200m,memory=512Mi --requests=cpu=100m
    set resources deploy app -c=side --limits=cpu=1
    set resources deploy app
    set serviceaccount deploy app default
    create service clusterip svc --tcp=80
    set selector svc svc a=b
    create rolebinding rb --role=r --user=u
    36| set subject rolebinding rb --user=v --group=g
    wait deploy/app --for=condition=Available --timeout=60s
    rollout pause deploy/app
    rollout pause deploy/app
    rollout resume deploy/app
    rollout resume deploy/app
    rollout pause cm/one
    rollout history deploy/nosuch
    rollout status cm/one
    36| rollout undo deploy/app --to-revision=99
    expose deploy app --port=80
    36| expose deploy app --port=80 --name=again --target-port=http --type=NodePort --dry-run=client -o yaml
    expose deploy app --name=third
    expose cm one --port=80
    expose deploy nosuch --port=80
    expose svc svc --name=fourth --port=81 --selector=x=y --labels=p=q
    run p1 --image=nginx
    run p1 --image=nginx
    run p2 --image=nginx --restart=Never --port=80 --env=A=b --env=C=d,e --labels=a=b,c=d -- x y
    run p3 --image=nginx --command -- sleep 1
    36| run p4 --image=nginx --dry-run=client -o yaml
    36| run p4 --image=nginx --dry-run=client -o json
    run p5 --image=nginx --port=80 --expose
    36| run p5 --image=nginx --port=80 --expose --dry-run=client -o yaml
    36| run p6 --image=nginx --overrides='{"spec":{"hostNetwork":true}}' --dry-run=client -o yaml
    run p7 --image=nginx --restart=Foo
    run p8 --image='Bad Image'
    run
    run --image=nginx
    run p9 --image=nginx -t
    replace -f {dir}/cm.yaml
    apply -f {dir}/cm.yaml
    replace -f {dir}/cm2.yaml
    replace -f {dir}/cm2.yaml --dry-run=client
    replace
    taint node sim-node-1 key=value:NoSchedule --dry-run=client
    taint node sim-node-1 key=value:Foo
    taint node sim-node-1 key-
    taint node sim-node-1
    taint pod x a=b:NoSchedule
    cordon sim-node-2 --dry-run=client
    uncordon sim-node-2
    cordon nosuch
    cordon
    wait cm/one --for=jsonpath='{.data.a}'=b --timeout=5s
    wait cm/one --for=jsonpath='{.data.a}' --timeout=5s
    wait cm/one --for=jsonpath='{.data.a}'=nosuch --timeout=0s
    wait cm/nosuch --for=condition=x --timeout=0s
    wait cm/nosuch --for=delete --timeout=5s
    wait cm/one --for=delete --timeout=1s
    wait cm/one --for=create --timeout=5s
    wait cm/one --for=foo
    36| wait cm/one
    wait pod --all -l nosuch=x --for=condition=Ready
    wait pod -l nosuch=x --for=condition=Ready
  `),
}
