/** Files that the lines speak of. */
export const manifests: Readonly<Record<string, string>> = {
  variables: '# a comment\nA=1\nB=two words\n\n',
  'cm.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n  labels: {app: cm}\ndata:\n  a: "1"\n',
  'cm2.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n  labels: {app: cm}\ndata:\n  a: "2"\n  b: "3"\n',
  'cm3.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n  labels: {app: cm}\ndata:\n  b: "3"\n',
  'many.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: many-1, labels: {app: many}}
---
# nothing here
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: many-2, labels: {app: many}}
- apiVersion: v1
  kind: Secret
  metadata: {name: many-3, labels: {app: many}}
  stringData: {a: b}
`,
  'unknown-kind.yaml': 'apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: x}\n',
  'bad.yaml': 'apiVersion: v1\nkind: ConfigMap\n  metadata: {name: x}\n',
  'no-kind.yaml': 'apiVersion: v1\nmetadata: {name: x}\n',
  'unknown-field.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unknown-field}\nfoo: bar\n',
  'invalid.yaml': 'apiVersion: v1\nkind: Service\nmetadata: {name: invalid}\nspec:\n  ports:\n  - port: 0\n  - port: 70000\n    name: b\n',
  'empty.yaml': '# nothing\n',
  'deploy.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {app: app}}
spec:
  replicas: 2
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: main
        image: nginx:1
        ports: [{containerPort: 80}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
      - name: side
        image: busybox
`,
  'deploy2.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {app: app, tier: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: main
        image: nginx:2
        ports: [{containerPort: 80}]
        env: [{name: B, value: "3"}]
`,
  'deploy-bad.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {app: app, tier: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: main
        image: nginx:2
`,
}
