import { type Chapter, linesOf } from './lines.ts'

/** What users mistype, and what templates may say: compared with v1.36 alone, whose words they are. */
export const mistyping: Chapter = {
  name: 'odd command lines',
  byHand: true,
  lines: linesOf(`
    create cm one --from-literal=a=b --from-literal=n=10
    create cm two --from-literal=a=c
    label cm one x=1 y=two
    label cm two x=2
    create deployment web --image=nginx:1 --replicas=2
    create service clusterip s1 --tcp=80 --tcp=443
    create secret generic sec --from-literal=k=v
    run p1 --image=nginx
    wait deploy/web --for=condition=Available --timeout=60s
    nosuch --help
    explain deployments.v1.apps
    explain .pods
    explain ev.series
    kustomize {dir}/base --reorder=none
    kustomize {dir}/base --reorder=foo
    kustomize {dir}/base --enable-managedby-label
    replace --cascade=foo -f {dir}/cm.yaml
    debug p1 --set-image=bad
    debug p1 --image=nginx --env=foo
    proxy --port=99999
    get cm,secret one
    get cm,
    get CM one
    get cm.v1/one
    get deploy.v1.app/web
    get node sim-node-1 -A
    get cm -o custom-columns=A:
    get cm -o custom-columns=A:.metadata.name --show-labels
    get cm --sort-by=.data.n
    get cm one two -w --request-timeout=1s
    replace --cascade=foo -f {dir}/cm.yaml
    replace --cascade=foo --force -f {dir}/cm.yaml
    replace --cascade -f {dir}/cm.yaml --force
    replace --cascade=true --force -f {dir}/cm.yaml
    replace --cascade=orphan --force -f {dir}/cm.yaml
    replace --cascade=orphan -f {dir}/cm.yaml
    replace --grace-period=3 -f {dir}/cm.yaml
    replace --timeout=3s -f {dir}/cm.yaml
    replace --force --grace-period=3 -f {dir}/cm.yaml
    replace --force --grace-period=-3 -f {dir}/cm.yaml
    replace --force --timeout=-3s -f {dir}/cm.yaml
    replace --force --dry-run=server -f {dir}/cm.yaml
    replace --force --dry-run=client -f {dir}/cm.yaml
    replace --force --wait=false -f {dir}/cm.yaml -o name
    replace --subresource=status -f {dir}/cm.yaml
    replace --subresource=foo -f {dir}/cm.yaml
    replace -f {dir}/nosuch.yaml
    replace x
    replace -k {dir}/base
    replace -k {dir}/base --force
    replace --save-config -f {dir}/cm.yaml
    get nosuch --help
    proxy --port=99999
    proxy --port=-1
    proxy --port=foo
    proxy --port=99999 --disable-filter
    proxy --port=65536
    kustomize {dir}/base --reorder=none
    kustomize {dir}/base --reorder=legacy
    kustomize {dir}/base --reorder=foo
    kustomize {dir}/base --enable-alpha-plugins
    kustomize {dir}/base --load-restrictor=foo
    kustomize {dir}/base --load-restrictor=LoadRestrictionsNone
    kustomize {dir}/base --load-restrictor LoadRestrictionsRootOnly
    kustomize {dir}/base --network
    kustomize {dir}/base --network-name=x
    kustomize {dir}/base --mount=type=bind,src=/tmp,dst=/tmp
    kustomize {dir}/base --mount=foo
    kustomize {dir}/base --env=A=b -e C
    kustomize {dir}/base --env=
    kustomize {dir}/base --as-current-user
    kustomize {dir}/base --enable-managedby-label
    kustomize {dir}/base --enable-managed-by-label
    kustomize {dir}/base --allow-id-changes
    kustomize {dir}/base --helm-api-versions=a
    kustomize {dir}/base --helm-kube-version=1.2
    kustomize {dir}/base --helm-debug
    kustomize {dir}/base --enable-helm --helm-command=
    kustomize {dir}/base --enable-exec
    kustomize {dir}/base --enable-star
    kustomize {dir}/base --foo
    kustomize {dir}/base -e
    kustomize {dir}/cm.yaml
    kustomize https://127.0.0.1:1/x/y.git
    kustomize ''
    kustomize -k x
    kustomize build {dir}/base
    explain deployments.v1.apps
    explain deployments.apps
    explain deployments.apps.spec
    explain deployments.v1.apps.spec
    explain deployments.v2.apps
    explain deploy --api-version=v1
    explain deploy --api-version=apps
    explain deploy --api-version=apps/v1beta1
    explain pods --api-version=v1
    explain pods --api-version=apps/v1
    explain pods --api-version=/v1
    explain pods --api-version=a/b/c
    get cm --chunk-size=x
    get cm --chunk-size=-1
    get cm --chunk-size=1.5
    get cm -o ''
    get -o name cm
    get -oname cm
    get -onam cm
    get --output name cm one
    -o name get cm
    -o name
    get cm --output=name -o yaml one
    get cm -lx=1
    get cm -l=x=1
    get cm -l x=1 -l x=2
    get -- cm one
    get cm -- one
    get cm -- -o
    get -- -o
    get cm one -- two
    get cm one --
    get --
    delete -- cm nosuch
    create cm -- --from-literal=a=b
    create cm three -- x
    label cm one -- z=1
    scale -- deploy web --replicas=1
    annotate -- cm one z=1
    get cm,nosuch
    get nosuch,cm
    get cm one,two
    get cm/one cm/two
    get cm/one two
    get one cm/two
    get cm/one secret
    get cm/one,secret/sec
    get cm/
    get /one
    get cm//one
    get cm/one/
    get /
    get cm/one secret/nosuch
    get cm/nosuch secret/nosuch
    get nosuch/one cm/one
    get cm/one cm/one
    get ConfigMap/one
    get configmaps.v1. one
    get configmaps. one
    get deploy.v1.apps/web
    get deploy.app/web -o name
    get deployments.v1beta1.apps
    get all,cm -o name -l app=web
    get all/web
    get all web
    get deploy/web --show-kind
    get cm -l 'x in (1,2)' -o name
    get cm -l 'x notin (1)' -o name
    get cm -l 'x in ()' -o name
    get cm -l 'x in (1' -o name
    get cm -l 'x' -o name
    get cm -l '!x' -o name
    get cm -l 'x,y' -o name
    get cm -l 'x,!y' -o name
    get cm -l 'x=1,y in (two,three)' -o name
    get cm -l 'x>1' -o name
    get cm -l 'x<2' -o name
    get cm -l 'x>a' -o name
    get cm -l 'x==1' -o name
    get cm -l 'x=' -o name
    get cm -l '=1' -o name
    get cm -l 'x!=1' -o name
    get cm -l ',' -o name
    get cm -l 'x,,y' -o name
    get cm -l ' x = 1 ' -o name
    get cm -l 'x=1=2' -o name
    get cm -l 'x=a b' -o name
    get cm -l 'x/y/z=1' -o name
    get cm -l 'X_Y.z/a=1' -o name
    get cm -l 'x=!' -o name
    get cm -l 'x exists' -o name
    get cm -l 'x in 1' -o name
    get cm -l 'x in (a,)' -o name
    get cm -l 'x =' -o name
    get cm -l '(' -o name
    get cm -l 'x==' -o name
    get cm -l 'x in (1),x notin (2)' -o name
    get cm --field-selector x
    get cm --field-selector =x
    get cm --field-selector metadata.name
    get cm --field-selector metadata.name=
    get cm --field-selector metadata.name=one -o name
    get cm --field-selector metadata.name==one -o name
    get cm --field-selector metadata.name!=one -o name
    get cm --field-selector 'metadata.name in (one)' -o name
    get cm --field-selector metadata.name=one,metadata.namespace=x -o name
    get cm --field-selector metadata.labels.x=1 -o name
    get cm --field-selector 'metadata.name=a\\,b'
    get cm --field-selector ''
    get cm,secret --field-selector metadata.name=one -o name
    get cm one --field-selector metadata.name=one
    get cm one -l x=1
    get cm one two -A
    get nodes,cm -A -l nosuch
    get cm -o custom-columns=A
    get cm -o custom-columns=:.x
    get cm -o custom-columns=A:.x,
    get cm -o custom-columns=,A:.x
    get cm -o custom-columns=A:.metadata.name,A:.metadata.name
    get cm -o custom-columns=A:metadata.name,B:.metadata.labels.x
    get cm -o custom-columns='A A:.metadata.name'
    get cm -o custom-columns=A:..name
    get cm -o custom-columns=A:.metadata.labels
    get cm -o custom-columns=A:.items
    get deploy web -o custom-columns=A:.spec.template.spec.containers
    get deploy web -o custom-columns=A:.spec.replicas,B:.status,C:.spec.paused
    get deploy web -o custom-columns=A:.spec.template.spec.containers[0].name
    get deploy web -o custom-columns='A:.status.conditions[?(@.type=="Available")].status'
    get svc s1 -o custom-columns=P:.spec.ports[*].port,N:.spec.ports[*].name
    get svc s1 -o custom-columns=P:.spec.ports[-1:].port
    get cm -o custom-columns=A:{.metadata.name}
    get cm -o custom-columns=A:{metadata.name}
  `),
}

/** JSONPath and Go's templates, and what is wrong with some of them. */
export const templating: Chapter = {
  name: 'templates',
  byHand: true,
  lines: linesOf(`
    apply -f {dir}/jp.yaml
    get cm j1 -o jsonpath={.data.n}
    get cm j1 -o jsonpath='{.data.a\\.b}'
    get cm j1 -o jsonpath="{.data['a.b']}"
    get cm j1 -o jsonpath="{.data['nosuch']}"
    get cm j1 -o jsonpath="{.data['n','yes']}"
    get cm j1 -o jsonpath='{.data["n"]}'
    get cm j1 -o jsonpath="{['metadata']['name']}"
    get cm j1 -o jsonpath="{.metadata.labels.dash-key}"
    get cm j1 -o jsonpath="{.metadata.labels.dot\\.key/x}"
    get cm j1 -o jsonpath="{.metadata['labels'].app}"
    get cm j1 -o jsonpath={.data}
    get cm j1 -o jsonpath={.data.multi}
    get cm j1 -o jsonpath={.data.uni}
    get cm j1 -o jsonpath={.data.quote}
    get cm j1 -o jsonpath={.data.html}
    get cm j1 -o jsonpath={.data.empty}
    get cm j1 -o jsonpath={@.kind}
    get cm j1 -o jsonpath={$.kind}
    get cm j1 -o jsonpath={}
    get cm j1 -o jsonpath={.}
    get cm j1 -o jsonpath=kind
    get cm j1 -o jsonpath=.kind
    get cm j1 -o jsonpath='{.kind}{.kind'
    get cm j1 -o jsonpath='{.kind}}'
    get cm j1 -o jsonpath='{{.kind}}'
    get cm j1 -o jsonpath='x{"{"}y'
    get cm j1 -o jsonpath="{.kind}{'\\n'}"
    get cm j1 -o jsonpath='{.kind}{"\\t\\\\\\u00e9"}'
    get cm j1 -o jsonpath='{.kind}{"\\q"}'
    get cm j1 -o jsonpath='{.kind} {.metadata.name}'
    get cm j1 -o jsonpath='{.kind .metadata.name}'
    get cm j1 -o jsonpath='{.kind,.metadata.name}'
    get cm j1 -o jsonpath='{.metadata.name[0]}'
    get cm j1 -o jsonpath='{.metadata.name.x}'
    get cm j1 -o jsonpath='{.data[0]}'
    get cm j1 -o jsonpath='{.data[*]}'
    get cm j1 -o jsonpath='{1}'
    get cm j1 -o jsonpath='{1.5}'
    get cm j1 -o jsonpath='{-1}'
    get cm j1 -o jsonpath='{true}'
    get cm j1 -o jsonpath='{"lit"}'
    get cm j1 -o jsonpath='{range .data}{.}{end}'
    get cm j1 -o jsonpath='{range .nosuch}{.}{end}'
    get cm j1 -o jsonpath='{range .data.n}{.}{end}'
    get cm j1 -o jsonpath='{range}{end}'
    get cm j1 -o jsonpath='{..n}'
    get cm j1 -o jsonpath='{..app}'
    get cm j1 -o jsonpath='{.metadata..app}'
    get cm j1 -o jsonpath='{.data.nosuch}x'
    get cm j1 -o jsonpath='{.nosuch.deeper}' --allow-missing-template-keys=false
    get cm j1 -o jsonpath='{.data.nosuch}' --allow-missing-template-keys=false
    get cm j1 -o jsonpath-file={dir}/nosuch
    get cm j1 -o jsonpath --template={.kind}
    get cm j1 -o json --template={.kind}
    get cm j1 --template={{.kind}}
    get cm j1 --template={{.kind
    get cm j1 -o name --template={{.kind}}
    get cm j1 -o go-template={{.kind}}
    get cm j1 -o go-template='{{.data.n}} {{.data.nosuch}} {{.nosuch}}'
    get cm j1 -o go-template='{{.data.nosuch.deeper}}'
    get cm j1 -o go-template='{{.data.n.deeper}}'
    get cm j1 -o go-template='{{printf "%d %s %v %q %T" 3 "s" .data.n .data.n .data}}'
    get cm j1 -o go-template='{{printf "%5s|%-5s|%05d|%x|%X|%t|%e" "a" "b" 3 255 255 true 1.5}}'
    get cm j1 -o go-template='{{printf "%d" "x"}} {{printf "%s" 3}} {{printf "%d"}} {{printf "x" 1}} {{printf "%!"}} {{printf "%z" 1}}'
    get cm j1 -o go-template='{{printf "%+v %#v %v" .data .data .metadata.labels}}'
    get cm j1 -o go-template='{{printf "%6.2f|%c|%U|%b|%o" 3.14159 65 9731 5 8}}'
    get cm j1 -o go-template='{{index .data "a.b"}} {{index .data "nosuch"}} {{index .metadata "labels" "app"}}'
    get cm j1 -o go-template='{{index .kind 0}}'
    get cm j1 -o go-template='{{len .data}} {{len .kind}} {{len .metadata.labels}}'
    get cm j1 -o go-template='{{and .kind .data.n}} {{and .nosuch .kind}} {{or .nosuch .kind}} {{or "" 0}} {{not .nosuch}} {{not .kind}}'
    get cm j1 -o go-template='{{html .data.html}} {{js .data.quote}} {{urlquery .data.html}} {{html 3}}'
    get cm j1 -o go-template='{{print "a" "b" 1 2 "c" 3}} {{println "x" 1}} {{print nil}}'
    get cm j1 -o go-template='{{eq .kind "ConfigMap"}} {{eq .kind "a" "ConfigMap"}} {{ne .kind "x"}} {{lt 1 2}} {{le 2 2}} {{gt "b" "a"}} {{ge 1 2}}'
    get cm j1 -o go-template='{{eq .nosuch "x"}}'
    get cm j1 -o go-template='{{range $k, $v := .data}}{{if eq $k "empty"}}{{continue}}{{end}}{{if eq $k "quote"}}{{break}}{{end}}{{$k}}={{$v}};{{end}}'
    get cm j1 -o go-template='{{break}}'
    get cm j1 -o go-template='{{continue}}'
    get cm j1 -o go-template='{{range .nosuch}}x{{else}}none{{end}}'
    get cm j1 -o go-template='{{range 3}}{{.}},{{end}}'
    get cm j1 -o go-template='{{range $i := 3}}{{$i}},{{end}}'
    get cm j1 -o go-template='{{range .data}}{{.}}|{{end}}'
    get cm j1 -o go-template='{{with .data}}{{.n}}{{end}}{{with .nosuch}}x{{else}}y{{end}}{{with .nosuch}}x{{else with .kind}}{{.}}{{end}}'
    get cm j1 -o go-template='{{if .nosuch}}a{{else if .kind}}b{{else}}c{{end}}'
    get cm j1 -o go-template='{{define "t"}}<{{.}}>{{end}}{{template "t" .kind}}{{template "t"}}'
    get cm j1 -o go-template='{{block "b" .metadata}}{{.name}}{{end}}'
    get cm j1 -o go-template='{{define "t"}}x{{end}}'
    get cm j1 -o go-template='{{$x := .kind}}{{if true}}{{$x = "z"}}{{end}}{{$x}}'
    get cm j1 -o go-template='{{- " a " -}}  b  {{- /* c */ -}} d'
    get cm j1 -o go-template='{{/* c */}}x{{/* unclosed'
    get cm j1 -o go-template='{{.kind | printf "%s-%s" "a" | len}}'
    get cm j1 -o go-template='{{(index .data "n") | printf "%q"}} {{((.kind))}} {{(.metadata).name}}'
    get cm j1 -o go-template='{{"a" | nosuch}}'
    get cm j1 -o go-template='{{.kind}'
    get cm j1 -o go-template='{{end}}'
    get cm j1 -o go-template='{{if .kind}}x'
    get cm j1 -o go-template='{{else}}'
    get cm j1 -o go-template='{{range}}{{end}}'
    get cm j1 -o go-template='{{if}}{{end}}'
    get cm j1 -o go-template='{{true}} {{1}} {{1.50}} {{0x1F}} {{1e3}} {{1_000}} {{0b11}} {{0o17}} {{-3}} {{+3}}'
    get cm j1 -o go-template='{{"\\u00e9\\n\\x41"}}'
    get cm j1 -o go-template='{{"unclosed}}'
    get cm j1 -o go-template='{{.metadata.labels}}'
    get cm j1 -o go-template='{{exists .data "n"}} {{exists . "data" "zz"}}'
    get cm j1 -o yaml=x
    get cm j1 -o name=x
    get cm j1 -o wide=x
    get cm j1 -o JSON
    get cm j1 -o ' json'
  `),
}

export const templated: Readonly<Record<string, string>> = {
  'jp.yaml': `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: j1, labels: {app: a, "dash-key": d, "dot.key/x": e}, annotations: {n: "5"}}
  data: {a.b: "1", empty: "", multi: "l1\\nl2", uni: "ü☃", quote: "a\\"b'c", html: "<a&b>", n: "42", yes: "true"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: j2}
spec:
  replicas: 0
  selector: {matchLabels: {app: j2}}
  template:
    metadata: {labels: {app: j2}}
    spec:
      containers:
      - {name: c1, image: i1, ports: [{containerPort: 80, name: http}, {containerPort: 443}], resources: {limits: {cpu: 100m, memory: 1Gi}}}
      - {name: c2, image: i2, env: [{name: A, value: "1"}]}
      - {name: c3, image: i3}
`,
}
