/** Kustomizations, by the path of each file. */
export const kustomizations: Readonly<Record<string, string>> = {
  'base/kustomization.yaml': `resources: [app.yaml, role.yaml]
configMapGenerator:
- name: settings
  literals: [a=b, "c=two words"]
secretGenerator:
- name: password
  literals: [user=me]
`,
  'base/app.yaml': `apiVersion: v1
kind: Service
metadata: {name: app}
spec: {selector: {app: app}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {app: app}}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      serviceAccountName: runner
      containers:
      - name: main
        image: registry.example.com/app:1
        envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: password}}]
      - {name: side, image: busybox}
`,
  'base/role.yaml': `apiVersion: v1
kind: ServiceAccount
metadata: {name: runner}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: runner}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`,
  'overlay/kustomization.yaml': `resources: [../base]
namespace: prod
namePrefix: p-
nameSuffix: -v2
labels:
- pairs: {env: prod}
  includeSelectors: true
- pairs: {team: a}
commonAnnotations: {note: hi}
images:
- {name: registry.example.com/app, newTag: "2"}
- {name: busybox, newName: other/box, digest: "sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3"}
replicas: [{name: app, count: 3}]
`,
  'patched/kustomization.yaml': `resources: [../base]
generatorOptions: {disableNameSuffixHash: true, labels: {made: "yes"}}
configMapGenerator:
- {name: more, literals: [x=y]}
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: app}
    spec:
      template:
        spec:
          containers:
          - name: main
            resources: {limits: {cpu: "1"}}
- target: {kind: Deployment}
  patch: |
    - {op: add, path: /spec/replicas, value: 5}
- target: {kind: Role}
  patch: |
    $patch: delete
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: runner}
`,
  'component/kustomization.yaml': `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Deployment, name: app}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/1/image, value: changed}
`,
  'with-component/kustomization.yaml': 'resources: [../base]\ncomponents: [../component]\n',
  'replacing/kustomization.yaml': `resources: [../base]
replacements:
- source: {kind: Service, name: app, fieldPath: metadata.name}
  targets:
  - select: {kind: Deployment}
    fieldPaths: ["spec.template.spec.containers.[name=side].image"]
`,
  'with-vars/kustomization.yaml': `resources: [app.yaml]
namePrefix: p-
vars:
- {name: SVC, objref: {apiVersion: v1, kind: Service, name: svc}}
- {name: NS, objref: {apiVersion: v1, kind: Service, name: svc}, fieldref: {fieldpath: metadata.namespace}}
`,
  'with-vars/app.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - name: c
        image: nginx
        command: [run, $(SVC), "--x=$(SVC).$(NS)", $(NOPE)]
        env: [{name: A, value: $(SVC)}]
---
apiVersion: v1
kind: Service
metadata: {name: svc, namespace: n1}
spec: {ports: [{port: 80}]}
`,
  'charted/kustomization.yaml': `helmCharts:
- {name: c, releaseName: rel, namespace: hn, valuesInline: {a: 5}, includeCRDs: true}
namePrefix: h-
`,
  'charted/charts/c/Chart.yaml': 'name: c\n',
  'charted/charts/c/values.yaml': 'a: 1\nb: 2\n',
  // Stands for helm: shows the values that it was given.
  'helm.sh': `#!/bin/sh
if [ "$1" = version ]; then echo v3.12.0; exit 0; fi
while [ $# -gt 0 ]; do [ "$1" = -f ] && values=$2; shift; done
printf -- '---\\napiVersion: v1\\nkind: ConfigMap\nmetadata: {name: made}\ndata:\n  values: "%s"\n' "$(tr '\n' ';' < "$values")"
`,
}
