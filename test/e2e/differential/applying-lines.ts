import { type Chapter, linesOf } from './lines.ts'

export const applying: Chapter = {
  name: 'applying and deleting',
  lines: [
    ...linesOf(`
      apply -f {dir}/cm.yaml --dry-run=client
      apply -f {dir}/cm.yaml --dry-run=server
      apply -f {dir}/cm.yaml
      apply -f {dir}/cm.yaml
      apply -f {dir}/cm2.yaml --dry-run=client
      apply -f {dir}/cm2.yaml --dry-run=server -o yaml
      apply -f {dir}/cm2.yaml
      apply -f {dir}/cm3.yaml
      get cm cm -o yaml
      apply -f {dir}/cm3.yaml -o name
      apply -f {dir}/cm3.yaml -o jsonpath={.data}
      apply -f {dir}/deploy.yaml
      apply -f {dir}/deploy.yaml
      apply -f {dir}/deploy2.yaml
      get deploy app -o jsonpath={.spec.template.spec}
      apply -f {dir}/deploy-bad.yaml
      apply -f {dir}/many.yaml
      apply -f {dir}/many.yaml -o yaml
      apply -f {dir}/unknown-kind.yaml
      apply -f {dir}/unknown-field.yaml
      apply -f {dir}/invalid.yaml
      apply -f {dir}/bad.yaml
      apply -f {dir}/empty.yaml
      apply -f {dir}/cm.yaml -n other-namespace
      create configmap plain --from-literal=a=b
    `),
    { run: 'apply -f -', input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {a: c}\n' },
    { run: 'apply --server-side -f -', input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {a: c}\n' },
    {
      run: 'apply --server-side --field-manager=other -f -',
      input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {a: d}\n',
    },
    {
      run: 'apply --server-side --field-manager=other --force-conflicts -f -',
      input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {a: d}\n',
    },
    { run: 'apply --server-side -f - -o yaml', input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa2}\ndata: {a: d}\n' },
    { run: 'apply --server-side --dry-run=client -f -', input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa2}\ndata: {a: d}\n' },
    { run: 'apply -f -', input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: elsewhere, namespace: elsewhere}\n' },
    {
      run: 'apply --prune -l app=many -f -',
      input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: many-1, labels: {app: many}}\n',
      since: 36,
    },
    ...linesOf(`
      36| delete -f {dir}/cm.yaml
      36| delete -f {dir}/cm.yaml
      36| delete -f {dir}/cm.yaml --ignore-not-found
      36| delete deploy app --cascade=foreground
      36| delete cm plain -o name
      36| delete cm ssa --dry-run=client
      36| delete cm ssa --dry-run=server
      36| delete cm ssa ssa2 nosuch
      36| delete cm -l app=nosuch
      36| delete cm --all
      36| delete pods --all --now
    `),
  ],
}
