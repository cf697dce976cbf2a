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
  'described.yaml': `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: postgres}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {nodeSelector: {no: node}, containers: [{name: agent, image: agent}]}
---
apiVersion: v1
kind: LimitRange
metadata: {name: lr}
spec:
  limits:
  - type: Container
    max: {cpu: "2"}
    default: {cpu: 500m}
    defaultRequest: {cpu: 100m}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: np}
spec:
  podSelector: {matchLabels: {app: app}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{podSelector: {matchLabels: {a: b}}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
    ports: [{port: 80}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: np2}
spec: {podSelector: {}, policyTypes: [Ingress]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {storageClassName: nosuch, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: full, annotations: {note: "some words"}}
spec:
  nodeSelector: {no: node}
  priorityClassName: system-node-critical
  tolerations: [{key: a, operator: Exists, effect: NoSchedule}]
  initContainers: [{name: init, image: busybox, command: [sh, -c, "echo 1"]}]
  containers:
  - name: main
    image: nginx
    args: [a, b]
    ports: [{containerPort: 80, name: http}, {containerPort: 81}]
    env: [{name: A, value: b}, {name: P, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}]
    envFrom: [{configMapRef: {name: c}}]
    resources: {limits: {memory: 1Gi}, requests: {cpu: 100m}}
    livenessProbe: {httpGet: {path: /x, port: 80}}
    readinessProbe: {exec: {command: [a, b]}}
    volumeMounts: [{name: v, mountPath: /v}, {name: c, mountPath: /c, readOnly: true, subPath: x}]
  volumes:
  - {name: v, emptyDir: {}}
  - {name: c, configMap: {name: c}}
  - {name: h, hostPath: {path: /tmp}}
  - {name: s, secret: {secretName: s, optional: true}}
`,
}
