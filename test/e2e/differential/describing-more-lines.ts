import { type Chapter, linesOf } from './lines.ts'

export const describingMore: Chapter = {
  name: 'describing rich objects',
  byHand: true,
  lines: [
    { run: 'apply -f {dir}/rich.yaml' },
    ...linesOf(`
    wait pod/rich --for=condition=Ready --timeout=60s
    wait rc/rc1 --for=jsonpath={.status.readyReplicas}=1 --timeout=60s
    create serviceaccount puller
    create secret tls tls1 --cert={dir}/nosuch --key={dir}/nosuch
    describe pod rich
    describe pod volumes
    describe rc rc1
    describe svc lb
    describe svc external
    describe svc headless
    describe svc affine
    describe ep manual
    describe endpointslices manual-1
    describe ing rich
    describe netpol complex
    describe netpol egress
    describe pdb percent
    describe hpa many
    describe job indexed
    describe cronjob full
    describe pvc selected
    describe quota scoped
    describe limits many
    describe sa robot
    describe secret token
    describe cm binary
    describe role named
    describe rolebinding group
    describe deploy recreate
    describe deploy rolled
    describe sts ordered
    describe ds ondelete
    describe rs bare
    describe lease held
    describe podtemplate pt
    describe sc
    describe csidriver
    describe csinode
    describe node sim-node-1
    describe flowschema exempt
    describe prioritylevelconfiguration system
    describe apiservice v1.apps
    describe ingressclass
    describe runtimeclass
    describe servicecidr kubernetes
    describe ipaddress
    describe validatingwebhookconfiguration
    describe clusterrole system:node
    describe clusterrolebinding system:basic-user
    describe crd
    describe all -l app=nosuch
    describe pod ri
    describe pods rich volumes
    describe pod/rich svc/lb
    describe pod rich --show-events=false
    describe -f {dir}/rich.yaml --show-events=false
    describe
    describe pod nosuch -l a=b
    describe pod -A -l app=nosuch
    get pods rich volumes -o wide
    get svc,ep,endpointslices,ing,netpol,pdb,hpa,job,cronjob,pvc,quota,limits,sa,lease,rc,rs,sts,ds,deploy,podtemplate
    get svc,ing,netpol,pdb,job,cronjob,rc,rs,sts,ds,deploy -o wide
  `),
  ],
}

const template = (app: string) => `template:
    metadata: {labels: {app: ${app}}}
    spec: {containers: [{name: c, image: nginx}]}`

export const described: Readonly<Record<string, string>> = {
  'rich.yaml': `apiVersion: v1
kind: Pod
metadata:
  name: rich
  labels: {app: rich, tier: web}
  annotations:
    long: "line one\\nline two"
    short: x
spec:
  terminationGracePeriodSeconds: 5
  hostNetwork: false
  serviceAccountName: default
  readinessGates: [{conditionType: example.com/gate}]
  schedulingGates: []
  hostAliases: [{ip: 1.2.3.4, hostnames: [a]}]
  securityContext: {runAsUser: 1, fsGroup: 2}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: rich}}}]
  tolerations:
  - {key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 60}
  - {key: c, operator: Exists}
  - {operator: Exists, effect: NoExecute}
  initContainers:
  - {name: side, image: busybox, restartPolicy: Always, env: [{name: X, value: "1"}]}
  containers:
  - name: main
    image: nginx:1.2@sha256:0123456789012345678901234567890123456789012345678901234567890123
    command: [sh, -c, "echo a\\necho b"]
    args: ["--flag=x y"]
    ports: [{containerPort: 80, hostPort: 8080, protocol: TCP, name: web}, {containerPort: 53, protocol: UDP}]
    env:
    - {name: PLAIN, value: "with spaces"}
    - {name: FIELD, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: RES, valueFrom: {resourceFieldRef: {containerName: main, resource: limits.cpu, divisor: 1m}}}
    - {name: CM, valueFrom: {configMapKeyRef: {name: c, key: k, optional: true}}}
    envFrom:
    - {prefix: P_, secretRef: {name: s, optional: true}}
    resources: {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: 100m, memory: 64Mi, ephemeral-storage: 1Gi}}
    livenessProbe: {grpc: {port: 90, service: s}, initialDelaySeconds: 3, periodSeconds: 4, failureThreshold: 5}
    startupProbe: {httpGet: {scheme: HTTPS, host: h, path: /p, port: web}, timeoutSeconds: 9}
    readinessProbe: {tcpSocket: {port: 80}}
    securityContext: {privileged: false}
    volumeMounts: [{name: e, mountPath: /e, readOnly: true}, {name: e, mountPath: /f, subPathExpr: x}]
  volumes:
  - {name: e, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: volumes, labels: {app: volumes}}
spec:
  nodeSelector: {zone: none}
  containers: [{name: c, image: x}]
  volumes:
  - {name: cm, configMap: {name: c, optional: true, items: [{key: a, path: b}]}}
  - {name: proj, projected: {sources: [{configMap: {name: c}}, {secret: {name: s}}, {serviceAccountToken: {path: t, expirationSeconds: 700, audience: a}}, {downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}]}}
  - {name: down, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}, {path: r, resourceFieldRef: {containerName: c, resource: requests.cpu}}]}}
  - {name: nfs, nfs: {server: s, path: /p, readOnly: true}}
  - {name: iscsi, iscsi: {targetPortal: t, iqn: iqn.2001-04.com.example, lun: 1, chapAuthDiscovery: false}}
  - {name: host, hostPath: {path: /x, type: Directory}}
  - {name: csi, csi: {driver: d.example.com, fsType: ext4, readOnly: true, volumeAttributes: {a: b}}}
  - {name: pvc, persistentVolumeClaim: {claimName: selected, readOnly: true}}
  - {name: eph, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: b}}, spec: {accessModes: [ReadWriteOnce], storageClassName: x, resources: {requests: {storage: 1Gi}}}}}}
  - {name: fc, fc: {targetWWNs: [a], lun: 2}}
  - {name: sec, secret: {secretName: s}}
  - {name: img, image: {reference: r, pullPolicy: Always}}
  - {name: git, gitRepo: {repository: r, revision: v}}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: rc1}
spec:
  replicas: 1
  selector: {app: rc1}
  ${template('rc1')}
---
apiVersion: v1
kind: Service
metadata: {name: lb, annotations: {a: b}}
spec:
  type: LoadBalancer
  loadBalancerSourceRanges: [10.0.0.0/8]
  externalTrafficPolicy: Local
  ports: [{name: http, port: 80, targetPort: web, appProtocol: http}, {name: dns, port: 53, protocol: UDP}]
  selector: {app: rich}
---
apiVersion: v1
kind: Service
metadata: {name: external}
spec: {type: ExternalName, externalName: example.com}
---
apiVersion: v1
kind: Service
metadata: {name: headless}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app: rich}}
---
apiVersion: v1
kind: Service
metadata: {name: affine}
spec:
  sessionAffinity: ClientIP
  internalTrafficPolicy: Local
  externalIPs: [1.2.3.4]
  ports: [{port: 80}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: manual}
subsets:
- addresses: [{ip: 10.9.9.9}, {ip: 10.9.9.8, nodeName: node-9, targetRef: {kind: Pod, name: p}}]
  notReadyAddresses: [{ip: 10.9.9.7}]
  ports: [{name: a, port: 80}, {name: b, port: 81, protocol: UDP}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: manual-1, labels: {x: z}}
addressType: IPv4
endpoints:
- {addresses: [10.9.9.9], hostname: h, zone: z, nodeName: node-9, conditions: {ready: true}, targetRef: {kind: Pod, name: p}, deprecatedTopology: {a: b}}
- {addresses: [10.9.9.7], conditions: {ready: false}}
ports: [{name: a, port: 80, protocol: TCP}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: rich, annotations: {nginx: x}}
spec:
  ingressClassName: nosuch
  defaultBackend: {service: {name: nosuch, port: {number: 80}}}
  tls: [{hosts: [a.com, b.com], secretName: s}, {}]
  rules:
  - host: a.com
    http: {paths: [{path: /a, pathType: Prefix, backend: {service: {name: lb, port: {name: http}}}}, {path: /b, pathType: Exact, backend: {resource: {apiGroup: g, kind: K, name: n}}}]}
  - http: {paths: [{pathType: ImplementationSpecific, backend: {service: {name: nosuch, port: {number: 1}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: complex}
spec:
  podSelector: {matchExpressions: [{key: a, operator: In, values: [b, c]}]}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{namespaceSelector: {matchLabels: {team: s}}, podSelector: {matchLabels: {a: b}}}, {namespaceSelector: {}}]
    ports: [{port: web, protocol: TCP}, {port: 1000, endPort: 2000, protocol: UDP}]
  - {}
  egress:
  - to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 1.2.3.4/32]}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: egress}
spec: {podSelector: {}, policyTypes: [Egress]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: percent}
spec: {maxUnavailable: 25%, unhealthyPodEvictionPolicy: AlwaysAllow, selector: {matchExpressions: [{key: a, operator: Exists}]}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: many}
spec:
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nosuch}
  behavior:
    scaleDown: {stabilizationWindowSeconds: 60, policies: [{type: Percent, value: 10, periodSeconds: 60}]}
    scaleUp: {selectPolicy: Min, policies: [{type: Pods, value: 2, periodSeconds: 15}]}
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Mi}}}
  - {type: ContainerResource, containerResource: {name: cpu, container: c, target: {type: Utilization, averageUtilization: 60}}}
  - {type: Pods, pods: {metric: {name: p}, target: {type: AverageValue, averageValue: "5"}}}
  - {type: Object, object: {metric: {name: o}, describedObject: {kind: Service, name: s}, target: {type: Value, value: "7"}}}
  - {type: External, external: {metric: {name: e, selector: {matchLabels: {a: b}}}, target: {type: AverageValue, averageValue: "3"}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: indexed}
spec:
  suspend: true
  completions: 3
  parallelism: 2
  completionMode: Indexed
  backoffLimitPerIndex: 1
  maxFailedIndexes: 2
  activeDeadlineSeconds: 99
  ttlSecondsAfterFinished: 100
  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: c, operator: In, values: [1, 2]}}, {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: x, command: [a]}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: full}
spec:
  schedule: "0 0 1 1 *"
  timeZone: Etc/UTC
  suspend: true
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 10
  successfulJobsHistoryLimit: 1
  jobTemplate: {spec: {completions: 2, parallelism: 1, activeDeadlineSeconds: 5, template: {spec: {restartPolicy: OnFailure, containers: [{name: c, image: x}]}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: selected, labels: {a: b}}
spec: {storageClassName: "", volumeMode: Block, accessModes: [ReadWriteOnce, ReadOnlyMany], selector: {matchLabels: {a: b}}, resources: {requests: {storage: 1Gi}}, dataSource: {kind: PersistentVolumeClaim, name: other}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: scoped}
spec: {hard: {pods: "5", requests.cpu: "1"}, scopes: [NotTerminating, NotBestEffort]}
---
apiVersion: v1
kind: LimitRange
metadata: {name: many}
spec:
  limits:
  - {type: Pod, max: {cpu: "4"}, min: {cpu: 1m}}
  - {type: Container, maxLimitRequestRatio: {cpu: "100"}}
  - {type: PersistentVolumeClaim, min: {storage: 1Mi}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, annotations: {a: b}}
imagePullSecrets: [{name: x}, {name: z}]
secrets: [{name: token}]
---
apiVersion: v1
kind: Secret
metadata: {name: token}
type: Opaque
stringData: {token: abc, k: "12345"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: binary}
immutable: true
data: {text: "one\\ntwo", z: ""}
binaryData: {b: AAEC}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: named}
rules:
- {apiGroups: [""], resources: [secrets], resourceNames: [a, b], verbs: [get]}
- {apiGroups: [apps, batch], resources: [deployments/scale, jobs], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: group}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: Group, name: g, apiGroup: rbac.authorization.k8s.io}, {kind: ServiceAccount, name: s, namespace: default}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: recreate}
spec:
  replicas: 0
  minReadySeconds: 5
  strategy: {type: Recreate}
  selector: {matchLabels: {app: recreate}}
  ${template('recreate')}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: rolled, annotations: {deployment.kubernetes.io/revision: "9"}}
spec:
  replicas: 0
  paused: true
  strategy: {rollingUpdate: {maxSurge: 3, maxUnavailable: 10%}}
  selector: {matchExpressions: [{key: app, operator: In, values: [rolled]}]}
  ${template('rolled')}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ordered}
spec:
  replicas: 0
  podManagementPolicy: Parallel
  serviceName: headless
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}
  selector: {matchLabels: {app: ordered}}
  ${template('ordered')}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ondelete}
spec:
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: ondelete}}
  template:
    metadata: {labels: {app: ondelete}}
    spec: {nodeSelector: {zone: none}, containers: [{name: c, image: x}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: bare}
spec:
  replicas: 0
  selector: {matchLabels: {app: bare}}
  ${template('bare')}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: held}
spec: {holderIdentity: me, leaseDurationSeconds: 15, leaseTransitions: 3}
---
apiVersion: v1
kind: PodTemplate
metadata: {name: pt}
template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}
`,
}
