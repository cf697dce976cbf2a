import { type Chapter, linesOf } from './lines.ts'

/** What `wait` waits for, and what it refuses: compared with v1.36 alone, whose words they are. */
export const waiting: Chapter = {
  name: 'waiting for conditions',
  byHand: true,
  lines: linesOf(`
    create cm one --from-literal=a=b
    create cm two --from-literal=a=c
    label cm one x=1
    create deployment web --image=nginx:1 --replicas=1
    run p1 --image=nginx
    wait
    wait --for
    wait cm
    wait cm one
    wait cm/one --for=
    wait cm/one --for=foo
    wait cm/one --for=condition
    wait cm/one --for=Condition=Ready
    wait cm/one --for=JSONPATH={.data.a}
    wait cm/one --for=jsonpath=
    wait cm/one --for=jsonpath={.data.a}=b
    wait cm/one --for=jsonpath={.data.a}=
    wait cm/one --for=jsonpath={.data.a}==b
    wait cm/one --for=jsonpath={.data.a}=b=c
    wait cm/one --for=jsonpath={.data.a}b
    wait cm/one --for=jsonpath=.data.a=b
    wait cm/one --for=jsonpath=data.a=b
    wait cm/one --for=jsonpath={data.a}=b
    wait cm/one --for=jsonpath={.data.a}="\\"b\\""
    wait cm/one --for=jsonpath={.data.a}
    wait cm/one --for=jsonpath={.data}
    wait cm/one --for=jsonpath={.data}=b
    wait cm/one --for=jsonpath={.data.nosuch} --timeout=0
    wait cm/one --for=jsonpath={.data.nosuch}=x --timeout=0
    wait cm/one --for=jsonpath='{.data[?(@.a=="b")].a}'=b
    wait cm/one --for=jsonpath='{range .data}{.}{end}'
    wait cm/one --for=jsonpath={.data.a
    wait cm/one --for=jsonpath={.metadata.name[0]}
    wait cm/one --for=jsonpath={.metadata..name}=one
    wait cm/one --for=jsonpath='{.kind}{.metadata.name}'=one
    wait cm/one --for=condition=Ready --timeout=0
    wait cm/one --for=condition=Ready --timeout=x
    wait cm/one --for=condition=Ready --timeout=5
    wait cm/one --for=create
    wait cm/one --for=create -o name
    wait cm/one --for=create -o yaml
    wait cm/nosuch --for=create --timeout=0
    wait cm --all --for=create
    wait cm -l x=1 --for=create
    wait cm --for=create
    wait cm/nosuch --for=delete
    wait cm/nosuch --for=delete -o name
    wait cm/one --for=delete --timeout=0
    wait cm -l x=nosuch --for=delete
    wait cm --for=delete
    wait --for=delete
    wait nosuch/x --for=delete
    wait nosuch --for=delete
    wait cm/one nosuch/x --for=delete --timeout=0
    wait cm/nosuch cm/one --for=jsonpath={.data.a}
    wait cm/one cm/nosuch --for=jsonpath={.data.a}
    wait cm --all -l x=1 --for=jsonpath={.data.a}=b
    wait cm --all --field-selector metadata.name=one --for=jsonpath={.data.a}=b
    wait cm --field-selector metadata.name=one --for=jsonpath={.data.a}=b
    wait cm one -l x=1 --for=jsonpath={.data.a}=b
    wait cm one --all --for=jsonpath={.data.a}=b
    wait cm/one --all --for=jsonpath={.data.a}=b
    wait -l x=1 --for=jsonpath={.data.a}=b
    wait --all --for=jsonpath={.data.a}=b
    wait cm -l x=nosuch --for=jsonpath={.data.a}=b
    wait -f {dir}/cm.yaml --local=false --for=jsonpath={.data.a}
    wait -f {dir}/cm.yaml --for=jsonpath={.data.a}
    wait -f {dir}/cm.yaml --for=delete
    wait -f {dir}/nosuch.yaml --for=delete
    wait -f {dir}/nosuch.yaml --for=condition=x
    wait -f {dir}/cm.yaml cm/one --for=jsonpath={.data.a}
    wait -R --for=delete cm/one --timeout=0
    wait -k {dir}/base --for=delete
    wait pod/p1 --for=condition=Ready --timeout=60s
    wait pod/p1 --for=condition=ready=TRUE --timeout=60s
    wait pod/p1 --for=condition=Ready=unknown --timeout=0
    wait pod/p1 --for=condition=Ready --for=jsonpath={.status.phase}=Running --timeout=60s
    wait pod/p1 --for=condition=Ready --for=create --timeout=60s
    wait pod/p1 --for=jsonpath='{.status.containerStatuses[*].ready}'=true --timeout=60s
    wait pod/p1 --for=jsonpath='{.status.conditions[?(@.type=="Ready")].status}'=True --timeout=60s
    wait pod/p1 --for=jsonpath='{.status.conditions[*].status}'=True --timeout=60s
    wait pod p1 p1 --for=condition=Ready --timeout=60s
    wait pods --all --for=condition=Ready --timeout=60s -o name
    wait pods --all --for=condition=Ready --timeout=60s -o foo
    wait pod/p1 --for=foo -o foo
    wait pod/p1 --for=condition=Ready --timeout=60s --show-labels
    wait pod/p1 --for=condition=Ready -A
    wait pod -A --for=condition=Nosuch --timeout=0 --field-selector metadata.name=nosuch
    wait pod/p1 deploy/web --for=condition=Available --timeout=0
    wait all --all --for=delete --timeout=0
    wait deploy/web --for condition=Available --timeout=60s
    wait deploy/web --for condition=Available --timeout=-1s
    wait pod/p1/x --for=condition=Ready
    wait pod, --for=condition=Ready
    wait pod/ --for=condition=Ready
    wait p1 --for=condition=Ready
    wait --for=condition=Ready pod p1 deploy web
    wait --for=condition=Ready pod/p1 web
  `),
}
