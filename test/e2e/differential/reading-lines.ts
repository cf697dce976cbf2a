import { type Chapter, linesOf } from './lines.ts'

const outputs = [
  '',
  '-o wide',
  '-o yaml',
  '-o json',
  '-o name',
  '--show-labels',
  '-L app,tier',
  '--no-headers',
  "-o jsonpath='{.items[*].metadata.name}'",
  '-o custom-columns=N:.metadata.name,L:.metadata.labels,X:.nosuch',
]

export const reading: Chapter = {
  name: 'reading objects',
  lines: [
    ...linesOf(
      'apply -f {dir}/deploy.yaml\ncreate configmap one --from-literal=a=b\nlabel configmap one app=x tier=web\ncreate secret generic two --from-literal=k=v\nwait deploy/app --for=condition=Available --timeout=60s',
    ),
    ...[
      'configmap one',
      'configmap',
      'deploy app',
      'secret/two',
      'cm,secret',
      'deploy,rs',
      'cm one nosuch',
      'cm -l app=x',
      'cm -l app!=x',
      'secret two -o yaml',
    ].flatMap((what) =>
      (what.includes('-o') ? [''] : outputs).map((output) => ({
        run: `get ${what} ${output}`.trim(),
        since: what === 'configmap one' || what === 'cm,secret' ? 0 : 36,
      })),
    ),
    ...linesOf(`
      get ns default kube-system
      get nodes
      get nodes -o name
      get ns default -o yaml
      get all
      get pods --sort-by=.metadata.name -o name
      get cm --sort-by=.metadata.name
      get cm --sort-by='{.metadata.creationTimestamp}' -o name
      get cm --sort-by=.nosuch
      get cm one --show-kind
      get cm one -o go-template='{{.metadata.name}}{{"\\n"}}'
      get cm -o go-template='{{range .items}}{{.metadata.name}} {{.data}}{{"\\n"}}{{end}}'
      get cm one -o go-template='{{.nosuch}} {{len .data}} {{index .data "a"}} {{printf "%s-%v" .kind .metadata.labels}}'
      get cm one -o go-template='{{range $k, $v := .metadata.labels}}{{$k}}={{$v}};{{end}}'
      get cm one -o go-template='{{if eq .metadata.name "one"}}yes{{else}}no{{end}}'
      get secret two -o go-template='{{.data.k | base64decode}}'
      get cm one -o go-template='{{.metadata.name'
      get cm one -o go-template='{{foo}}'
      get cm one -o go-template
      get cm one -o jsonpath
      get cm one -o jsonpath='{.metadata.name}'
      get cm one -o jsonpath='{.metadata.labels}'
      get cm one -o jsonpath='{.nosuch}'
      get cm one -o jsonpath='{.metadata'
      get cm one -o jsonpath='{.metadata.labels.app}{"\\t"}{.kind}{"\\n"}'
      get cm -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}'
      get cm -o jsonpath='{range .items[*]}[{.metadata.name},{.metadata.labels.app}] {end}'
      get cm -o jsonpath='{.items[?(@.metadata.name=="one")].data.a}'
      get cm -o jsonpath='{.items[0].kind}'
      get cm -o jsonpath='{.items[99].kind}'
      get cm -o jsonpath-as-json='{.items[*].metadata.name}'
      get cm -o jsonpath='{..name}' -l app=x
      get deploy app -o jsonpath='{.spec.template.spec.containers[*].image}'
      get deploy app -o jsonpath='{.spec.template.spec.containers[*].env}'
      get deploy app -o jsonpath="{.spec.template.spec.containers[?(@.name=='side')].image}"
      get deploy app -o custom-columns=NAME:.metadata.name,IMAGES:.spec.template.spec.containers[*].image
      get deploy app -o custom-columns=NAME:metadata.name,R:{.spec.replicas}
      get deploy app -o custom-columns
      get deploy app -o custom-columns=foo
      get deploy app -o custom-columns-file={dir}/nosuch
      36| get deploy app -o kyaml
      36| get cm one -o kyaml
      get deploy app --subresource=scale
      get deploy app --subresource=status -o jsonpath={.kind}
      get deploy app --subresource=nosuch
      get --raw /api/v1/namespaces/{ns}/configmaps/one
      get --raw /nosuch
      get -f {dir}/deploy.yaml
      get -f {dir}/deploy.yaml -o name
      get cm --field-selector metadata.name=one
      get cm --field-selector nosuch=one
      get cm --chunk-size=1
      get cm one -o yaml --show-managed-fields
      get deployments.apps
      get deployments.v1.apps
      get Deployment
      get deployment.apps/app
      get cm/one secret/two
      get cm/one secret/two -o yaml
      get cs
      get events --field-selector reason=nosuch
      get pod -l nosuch=x -o yaml
      get pod -l nosuch=x -o json
      get pod -l nosuch=x -o name
      get pod -A -l nosuch=x
    `),
  ],
}
