/** More kustomizations, by the path of each file: what each field of a kustomization does to many kinds. */

const everything = `apiVersion: v1
kind: Namespace
metadata: {name: home}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: other}
spec: {ports: [{port: 80}], selector: {app: web}}
---
apiVersion: v1
kind: Service
metadata: {name: bare}
spec: {ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: bare
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      serviceAccountName: runner
      priorityClassName: high
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: zone, labelSelector: {matchLabels: {app: db}}}
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 1
            podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: db}}}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: db}}}
      imagePullSecrets: [{name: pull}]
      containers:
      - name: db
        image: registry.example.com:5000/team/db:1.2@sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3
        ports: [{containerPort: 5432}]
      - name: proxy
        image: proxy
        ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]
        env:
        - {name: A, valueFrom: {configMapKeyRef: {name: settings, key: a}}}
        - {name: B, valueFrom: {secretKeyRef: {name: password, key: user}}}
      volumes:
      - {name: p, projected: {sources: [{configMap: {name: settings}}, {secret: {name: password}}]}}
      - {name: c, persistentVolumeClaim: {claimName: claim}}
      - {name: i, image: {reference: "registry.example.com:5000/team/db:1.2"}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 0 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: job, image: busybox, envFrom: [{configMapRef: {name: settings}}]}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: job, image: "busybox:1"}]}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress: [{from: [{podSelector: {matchLabels: {app: db}}}]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: door
  annotations: {nginx.ingress.kubernetes.io/auth-secret: password}
spec:
  ingressClassName: nginx
  tls: [{secretName: password, hosts: [a.example.com]}]
  rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: bare, port: {number: 80}}}}]}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [settings], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reading}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects:
- {kind: ServiceAccount, name: default, namespace: old}
- {kind: ServiceAccount, name: runner, namespace: default}
- {kind: User, name: somebody}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner}
imagePullSecrets: [{name: pull}]
---
apiVersion: v1
kind: Secret
metadata: {name: pull}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {storageClassName: fast, volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {storageClassName: fast, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /disk}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: example.com/fast
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 5
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- {name: a.example.com, clientConfig: {service: {name: bare, namespace: default, path: /}}, admissionReviewVersions: [v1], sideEffects: None}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: engines.example.com}
spec:
  group: example.com
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: bare, namespace: default}}}}
---
apiVersion: example.com/v1
kind: Engine
metadata: {name: engine}
spec:
  containers: [{name: x, image: busybox}]
  parts: [{name: one, size: 1}, {name: two, size: 2}]
  fuelRef: {name: fuel}
  selector: {app: engine}
  notes: {a: b}
---
apiVersion: example.com/v1
kind: Fuel
metadata: {name: fuel}
`

const settings = `configMapGenerator:
- name: settings
  envs: [settings.env]
  files: [page.html, other=page.html]
secretGenerator:
- {name: password, type: example.com/login, literals: [user=me, "quoted='a b'"]}
`

export const overlays: Readonly<Record<string, string>> = {
  'all/kustomization.yaml': `resources: [everything.yaml]\n${settings}`,
  'all/everything.yaml': everything,
  'all/settings.env': '# a comment\nONE=1\nTWO = 2\n\nEMPTY=\n',
  'all/page.html': '<p>\n  hello\n</p>\n',
  'all-named/kustomization.yaml': 'resources: [../all]\nnamePrefix: p-\nnameSuffix: -s\n',
  'all-placed/kustomization.yaml': 'resources: [../all]\nnamespace: prod\n',
  'all-labelled/kustomization.yaml': 'resources: [../all]\ncommonLabels: {team: a, "on": "yes"}\ncommonAnnotations: {note: "1"}\n',
  'all-templates/kustomization.yaml': 'resources: [../all]\nlabels: [{pairs: {team: a}, includeTemplates: true}, {pairs: {only: here}}]\n',
  'all-fields/kustomization.yaml': `resources: [../all]
labels:
- pairs: {team: a}
  fields: [{path: spec/parts/labels, kind: Engine, create: true}]
`,
  'all-images/kustomization.yaml': `resources: [../all]
images:
- {name: busybox, newName: mirror/busybox, newTag: "2"}
- {name: "registry.example.com:5000/team/db", newName: db}
- {name: nosuch, newTag: "3"}
`,
  'all-suffixed-images/kustomization.yaml':
    'resources: [../all]\nimages: [{name: busybox, tagSuffix: -slim}, {name: "registry.example.com:5000/team/db", newTag: "9", digest: "sha256:abc"}]\n',
  'all-counted/kustomization.yaml': 'resources: [../all]\nreplicas: [{name: db, count: 4}]\n',
  'all-miscounted/kustomization.yaml': 'resources: [../all]\nreplicas: [{name: nosuch, count: 4}]\n',
  'all-read-order/kustomization.yaml': 'resources: [../all]\nsortOptions: {order: fifo}\n',
  'all-own-order/kustomization.yaml': `resources: [../all]
sortOptions: {order: legacy, legacySortOptions: {orderFirst: [Engine, Service], orderLast: [Namespace]}}
`,
  'all-wrong-order/kustomization.yaml': 'resources: [../all]\nsortOptions: {order: random}\n',
  'all-twice/kustomization.yaml': 'resources: [../all, ../all]\n',
  'all-deep/kustomization.yaml': 'resources: [../all-named]\nnamePrefix: q-\nnamespace: deep\n',
  'all-merged/kustomization.yaml': `resources: [../all]
configMapGenerator:
- {name: settings, behavior: merge, literals: [ONE=uno, THREE=3]}
secretGenerator:
- {name: password, behavior: replace, literals: [only=this]}
`,
  'all-unmerged/kustomization.yaml': 'resources: [../all]\nconfigMapGenerator: [{name: nosuch, behavior: merge, literals: [a=b]}]\n',
  'all-options/kustomization.yaml': `resources: [../all]
generatorOptions: {labels: {made: here}, annotations: {note: x}, immutable: true}
configMapGenerator:
- {name: plain, literals: [a=b], options: {disableNameSuffixHash: true, labels: {made: there}}}
- {name: hashed, literals: [a=b]}
`,
  'all-patched/kustomization.yaml': `resources: [../all]
patches:
- patch: |
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db, labels: {new: label}}
    spec:
      template:
        spec:
          containers:
          - {name: side, image: side}
          - name: db
            ports: [{containerPort: 5432, name: pg}, {containerPort: 9000}]
            env: [{name: C, value: c}, {name: A, $patch: delete}]
            args: [one, two]
          - name: proxy
            ports: [{containerPort: 53, protocol: TCP, name: dns}]
          volumes:
          - {name: c, $patch: delete}
          - {name: e, emptyDir: {}}
          nodeSelector: {disk: ssd}
          affinity: null
      serviceName: null
- patch: |
    apiVersion: example.com/v1
    kind: Engine
    metadata: {name: engine}
    spec: {parts: [{name: three}], fuelRef: {grade: high}}
- target: {kind: Service, name: "w.*|bare"}
  patch: |
    - {op: add, path: /metadata/annotations, value: {patched: "true"}}
    - {op: replace, path: /spec/ports/0/port, value: 81}
- target: {kind: Job|CronJob}
  patch: |
    apiVersion: batch/v1
    kind: Any
    metadata: {name: any, labels: {kind: batch}}
- target: {labelSelector: kind=batch}
  patch: |
    apiVersion: v1
    kind: Any
    metadata: {name: any, annotations: {chosen: by-label}}
- target: {kind: Fuel}
  patch: |
    $patch: delete
    apiVersion: example.com/v1
    kind: Fuel
    metadata: {name: fuel}
`,
  'all-old-patches/kustomization.yaml': `resources: [../all]
patchesStrategicMerge:
- patch.yaml
- |
  apiVersion: v1
  kind: Service
  metadata: {name: bare}
  spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}, {port: 81}]}
patchesJson6902:
- target: {group: batch, version: v1, kind: Job, name: once}
  path: operations.json
`,
  'all-old-patches/patch.yaml': `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec: {minAvailable: null, maxUnavailable: 1, selector: {$patch: replace, matchLabels: {other: app}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner}
imagePullSecrets: [{name: more}]
`,
  'all-old-patches/operations.json':
    '[{"op":"test","path":"/metadata/name","value":"once"},{"op":"add","path":"/spec/backoffLimit","value":3}]',
  'all-renamed/kustomization.yaml': `resources: [../all]
patches:
- target: {kind: Service, name: bare}
  options: {allowNameChange: true}
  patch: |
    apiVersion: v1
    kind: Service
    metadata: {name: renamed}
`,
  'all-mispatched/kustomization.yaml': `resources: [../all]
patches: [{patch: "{apiVersion: v1, kind: Service, metadata: {name: nosuch}}"}]
`,
  'all-untargeted/kustomization.yaml': 'resources: [../all]\npatches: [{patch: "[{op: remove, path: /spec}]"}]\n',
  'all-replaced/kustomization.yaml': `resources: [../all]
replacements:
- source: {kind: StatefulSet, name: db, fieldPath: "spec.template.spec.containers.[name=db].image", options: {delimiter: ":", index: 1}}
  targets:
  - select: {kind: ConfigMap, name: settings}
    fieldPaths: [data.PORT]
    options: {create: true}
  - select: {kind: Ingress}
    fieldPaths: [spec.rules.0.host]
    options: {delimiter: ".", index: 0}
- source: {kind: Service, name: web, fieldPath: "spec.ports.0.port"}
  targets:
  - select: {kind: Ingress}
    fieldPaths: ["spec.rules.*.http.paths.*.backend.service.port.number", "metadata.annotations.[example.com/port]"]
    options: {create: true}
- source: {kind: PriorityClass, fieldPath: value}
  targets:
  - select: {group: example.com}
    reject: [{kind: Fuel}]
    fieldPaths: ["spec.parts.[name=two].size", "spec.parts.[name=new].size"]
    options: {create: true}
- sourceValue: text
  targets: [{select: {name: hook}, fieldPaths: ["webhooks.0.clientConfig.service.path"], options: {delimiter: "/", index: 9}}]
- path: replacement.yaml
`,
  'all-replaced/replacement.yaml': `- source: {kind: StatefulSet, name: db, fieldPath: spec.selector.matchLabels}
  targets: [{select: {kind: Service, name: bare}, fieldPaths: [spec.selector], options: {create: true}}]
`,
  'all-misreplaced/kustomization.yaml': `resources: [../all]
replacements: [{source: {kind: Nosuch}, targets: [{select: {kind: Service}}]}]
`,
  'all-misplaced/kustomization.yaml': `resources: [../all]
replacements: [{source: {kind: Namespace}, targets: [{select: {kind: Service}, fieldPaths: [spec.nosuch.field]}]}]
`,
  'all-structured/kustomization.yaml': `resources: [../all]
configMapGenerator:
- name: files
  files: [a.json, b.yaml]
replacements:
- source: {kind: Namespace, fieldPath: metadata.name}
  targets:
  - select: {name: files}
    fieldPaths: ["data.a\\\\.json.host.name", "data.b\\\\.yaml.host.name"]
`,
  'all-structured/a.json': '{"host": {"name": "old", "port": 1}}',
  'all-structured/b.yaml': 'host:\n  port: 1\n  name: old\n',
  'with-openapi/kustomization.yaml': `resources: [../all]
openapi: {path: schema.json}
patches:
- patch: |
    apiVersion: example.com/v1
    kind: Engine
    metadata: {name: engine}
    spec: {parts: [{name: two, size: 22}, {name: three, size: 3}]}
`,
  'with-openapi/schema.json': JSON.stringify({
    definitions: {
      'com.example.v1.Engine': {
        properties: { spec: { $ref: '#/definitions/com.example.v1.EngineSpec' } },
        'x-kubernetes-group-version-kind': [{ group: 'example.com', kind: 'Engine', version: 'v1' }],
      },
      'com.example.v1.EngineSpec': {
        properties: {
          parts: {
            type: 'array',
            items: { type: 'object' },
            'x-kubernetes-patch-merge-key': 'name',
            'x-kubernetes-patch-strategy': 'merge',
          },
        },
      },
    },
  }),
  'with-openapi-above/kustomization.yaml': `resources: [../with-openapi]
patches:
- patch: |
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec: {template: {spec: {containers: [{name: db, image: new}]}}}
`,
  'with-crds/kustomization.yaml':
    'resources: [../all]\ncrds: [types.json]\nnamePrefix: p-\ncommonLabels: {team: a}\ncommonAnnotations: {note: x}\n',
  'with-crds/types.json': JSON.stringify({
    'com.example.v1.Engine': {
      Schema: {
        properties: { kind: {}, apiVersion: {}, metadata: {}, spec: { $ref: 'com.example.v1.EngineSpec' } },
      },
    },
    'com.example.v1.EngineSpec': {
      Schema: {
        properties: {
          fuelRef: { 'x-kubernetes-object-ref-api-version': 'v1', 'x-kubernetes-object-ref-kind': 'Fuel' },
          selector: { 'x-kubernetes-label-selector': '' },
          notes: { 'x-kubernetes-annotation': '' },
        },
      },
    },
  }),
  'with-configurations/kustomization.yaml':
    'resources: [../all]\nconfigurations: [config.yaml]\nnamePrefix: p-\nimages: [{name: one, newName: changed}]\n',
  'with-configurations/config.yaml': `nameReference:
- kind: Fuel
  fieldSpecs: [{path: spec/fuelRef/name, kind: Engine}]
images: [{path: spec/parts/name, kind: Engine}]
`,
  'with-transformers/kustomization.yaml': `resources: [../all]
transformers:
- transformer.yaml
- |
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: any}
  prefix: t-
  fieldSpecs: [{path: metadata/name, kind: Engine}]
generators:
- |
  apiVersion: builtin
  kind: ConfigMapGenerator
  metadata: {name: made}
  literals: [a=b]
`,
  'with-transformers/transformer.yaml': `apiVersion: builtin
kind: NamespaceTransformer
metadata: {name: any, namespace: unset}
unsetOnly: true
setRoleBindingSubjects: allServiceAccounts
`,
  'with-unknown-plugin/kustomization.yaml':
    'resources: [../all]\ntransformers:\n- |\n  apiVersion: example.com/v1\n  kind: Magic\n  metadata: {name: x}\n',
  'with-local/kustomization.yaml': 'resources: [local.yaml]\nbuildMetadata: [managedByLabel]\n',
  'with-local/local.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: hidden, annotations: {config.kubernetes.io/local-config: "true"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shown, annotations: {config.kubernetes.io/local-config: "false"}}
`,
  'with-unknown-field/kustomization.yaml': 'resources: [../all]\nnameprefixes: x\n',
  'with-wrong-kind/kustomization.yaml': 'apiVersion: v1\nkind: ConfigMap\nresources: [../all]\n',
  'with-nothing/kustomization.yaml': 'kind: Kustomization\n',
  'with-circle/kustomization.yaml': 'resources: [../with-circle-back]\n',
  'with-circle-back/kustomization.yaml': 'resources: [../with-circle]\n',
  'with-missing/kustomization.yaml': 'resources: [nosuch.yaml]\n',
  'with-broken/kustomization.yaml': 'resources: [broken.yaml]\n',
  'with-broken/broken.yaml': 'a: [\n',
  'with-component-named/kustomization.yaml': 'resources: [../all]\nnamePrefix: p-\ncomponents: [../part]\n',
  'part/kustomization.yaml': `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
namespace: parts
nameSuffix: -c
configMapGenerator: [{name: settings, behavior: merge, literals: [PART=yes]}]
patches:
- target: {kind: Service}
  patch: '[{"op": "add", "path": "/spec/type", "value": "ClusterIP"}]'
`,
  'with-no-component/kustomization.yaml': 'resources: [../all]\ncomponents: [../all-named]\n',
}

/** Go tells an address in memory there. */
const untold = new Set(['all-unmerged', 'part'])

export const overlayNames = [...new Set(Object.keys(overlays).map((path) => path.split('/')[0] ?? ''))].filter((name) => !untold.has(name))
