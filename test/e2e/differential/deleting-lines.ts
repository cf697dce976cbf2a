import { type Chapter, linesOf } from './lines.ts'

/** Which objects are meant by files and selectors: compared with v1.36 alone, whose words they are. */
export const deleting: Chapter = {
  name: 'what is deleted, and what is not',
  byHand: true,
  lines: [
    ...linesOf(`
    create cm one --from-literal=a=b
    create cm two --from-literal=a=c
    label cm one x=1
    create cm c1
    create cm c2
    create cm c3
    delete
    delete cm
    delete nosuch
    delete nosuch x
    delete cm nosuch
    delete cm nosuch --ignore-not-found
    delete cm nosuch c1
    delete cm c2 nosuch -o name
    delete cm c3 -o yaml
    delete cm c3 --now --grace-period=5
    delete cm c3 --now --grace-period=0
    delete cm c3 --now --force
    delete cm c3 --force --grace-period=5
    delete cm c3 --grace-period=x
    delete cm c3 --cascade=foo
    delete cm c3 --dry-run=foo
    delete cm c3 --dry-run=client
    delete cm c3 --dry-run=server
    delete cm c3 --dry-run=client --force
    delete cm nosuch --dry-run=client
    delete cm -l x=nosuch
    delete cm -l x=nosuch --ignore-not-found
    delete cm -l x=nosuch --ignore-not-found=false
    delete cm --field-selector metadata.name=nosuch
    delete cm --all -l x=1 -o yaml
    delete cm --all --cascade=foo -l x=1
    delete cm -l 'x=('
    delete cm,secret -l x=nosuch
    delete cm,nosuch -l x=nosuch
    delete cm/one secret/nosuch --dry-run=server
    delete cm/one nosuch/nosuch --dry-run=server
    delete -f {dir}/nosuch.yaml
    delete -f {dir}/nosuch.yaml cm one
    delete -f {dir}/cm.yaml
    delete -f {dir}/cm.yaml --ignore-not-found
    delete -f {dir}/cm.yaml cm
    delete -f {dir}/cm.yaml --all
    delete -f {dir}/cm.yaml -l app=cm
    delete -f {dir}/cm.yaml -l app=nosuch
    delete -f {dir}/cm.yaml -f {dir}/nosuch.yaml
    delete -f -
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch
    delete --raw foo
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch -o name
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch -o yaml
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch -R
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch -i
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch -f a -f b
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch -f http://x/
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch -f {dir}/nosuch.yaml
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch --force --grace-period=3
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch --force
    delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch x y
    delete ns nosuch
    delete -n foo ns nosuch
    delete cm two -A
    delete cm --all -A --field-selector metadata.name=nosuch
    delete pods --all --now
    create --raw /api/v1/namespaces/{ns}/configmaps -f {dir}/nosuch.yaml
    create --raw foo -f {dir}/cm.yaml
    create --raw /api/v1/namespaces/{ns}/configmaps
    replace --raw /api/v1/namespaces/{ns}/configmaps/x -f {dir}/nosuch.yaml
    replace --raw /api/v1/namespaces/{ns}/configmaps/x
    get --raw foo
    get --raw /nosuch
    get --raw /version x
    get --raw /version -o yaml
    apply -f {dir}/cm.yaml
    get -f {dir}/cm.yaml
    get -f {dir}/cm.yaml -l app=nosuch
    get -f {dir}/cm.yaml -l app=nosuch -o yaml
    get -f {dir}/cm.yaml -l 'app=('
    get -f {dir}/cm.yaml -l app=cm -o name
    describe -f {dir}/cm.yaml -l app=nosuch
    label -f {dir}/cm.yaml -l app=nosuch q=1
    label -f {dir}/cm.yaml -l app=cm q=1
    annotate -f {dir}/cm.yaml -l app=nosuch q=1
    wait -f {dir}/cm.yaml -l app=nosuch --for=jsonpath={.kind}
    scale -f {dir}/cm.yaml -l app=nosuch --replicas=1
    set env -f {dir}/cm.yaml -l app=nosuch A=b
    rollout status -f {dir}/cm.yaml -l app=nosuch
    create -f {dir}/cm.yaml -l app=nosuch
    create -f {dir}/cm.yaml -l 'app=('
    apply -f {dir}/cm.yaml -l app=nosuch
    diff -f {dir}/cm.yaml -l app=nosuch
    delete -f {dir}/cm.yaml -l app=nosuch
    delete -f {dir}/cm.yaml -l 'app=('
    delete -f {dir}/cm.yaml -l app=cm
    get -f {dir}/nosuch.yaml -f {dir}/nosuch2.yaml
    apply -f {dir}/cm.yaml -f {dir}/nosuch2.yaml
    create -f {dir}/cm.yaml -f {dir}/nosuch2.yaml
    replace --raw foo -f {dir}/cm.yaml
  `),
    { run: 'delete -f -', input: 'apiVersion: foo/v1\nkind: Bar\nmetadata: {name: x}' },
    { run: 'delete -f - --ignore-not-found', input: 'apiVersion: foo/v1\nkind: Bar\nmetadata: {name: x}' },
    {
      run: 'delete -f -',
      input: 'apiVersion: foo/v1\nkind: Bar\nmetadata: {name: x}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c3}',
    },
    {
      run: 'delete -f -',
      input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c3}\n---\napiVersion: foo/v1\nkind: Bar\nmetadata: {name: x}',
    },
    { run: 'delete -f -', input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x}' },
    { run: 'delete -f -', input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: other}' },
    { run: 'delete -f -', input: 'apiVersion: v1\nmetadata: {name: x}' },
    { run: 'delete -f -', input: '{' },
    { run: 'delete -f -', input: 'foo' },
    {
      run: 'delete -f -',
      input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nosuch}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: nosuch2}',
    },
    {
      run: 'delete -f - --dry-run=client',
      input:
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nosuch}\n---\napiVersion: foo/v1\nkind: ConfigMap\nmetadata: {name: nosuch2}',
    },
    {
      run: 'delete --raw /api/v1/namespaces/{ns}/configmaps/nosuch -f -',
      input: '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":5}',
    },
    { run: 'delete cm one -i --dry-run=client', input: 'n' },
    { run: 'delete cm one -i', input: 'n' },
    { run: 'delete cm nosuch -i', input: 'y' },
    { run: 'delete cm -l x=nosuch -i', input: 'y' },
    { run: 'delete cm one -i', input: 'yes' },
    { run: 'delete cm one -i', input: 'y' },
    {
      run: 'delete -f - --ignore-not-found',
      input:
        'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: foo/v1, kind: Bar, metadata: {name: x}}\n- {apiVersion: foo/v1, kind: Baz, metadata: {name: z}}',
    },
  ],
}
