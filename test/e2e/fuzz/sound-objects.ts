/** Objects that a server takes as they are, to be spoiled. */
const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }] } }
const selector = { matchLabels: { app: 'a' } }
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const webhook = {
  name: 'a.example.com',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Ignore',
  clientConfig: { url: 'https://127.0.0.1:1/' },
  rules: [{ apiGroups: ['nowhere.example.com'], apiVersions: ['*'], resources: ['*'], operations: ['*'] }],
}

/** By `apiVersion kind`; names are given later. */
export const soundObjects: Readonly<Record<string, object>> = {
  'v1 ConfigMap': { data: { a: '1', b: '2' }, binaryData: { c: 'AAAA' } },
  'v1 Secret': { type: 'Opaque', stringData: { a: 'b' } },
  'v1 Namespace': {},
  'v1 Node': { spec: { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'], taints: [{ key: 'a', effect: 'NoSchedule' }] } },
  'v1 ServiceAccount': { secrets: [{ name: 'a' }] },
  'v1 Pod': {
    spec: {
      automountServiceAccountToken: false,
      initContainers: [{ name: 'i', image: 'i', restartPolicy: 'Always' }],
      containers: [
        {
          name: 'c',
          image: 'i',
          env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          resources: { requests: { cpu: '100m', memory: '10Mi' }, limits: { cpu: '1' } },
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
          readinessProbe: { httpGet: { port: 80 } },
        },
      ],
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Gi' } }],
      tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
          },
        },
      },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: selector }],
      securityContext: { runAsUser: 1, fsGroup: 2, sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] },
    },
  },
  'v1 Service': {
    spec: {
      type: 'NodePort',
      selector: { app: 'a' },
      ports: [
        { name: 'a', port: 80, targetPort: 'http' },
        { name: 'b', port: 81, protocol: 'UDP' },
      ],
    },
  },
  'v1 Endpoints': { subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }] },
  'v1 PersistentVolume': { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/a' } } },
  'v1 PersistentVolumeClaim': { spec: claim },
  'v1 LimitRange': { spec: { limits: [{ type: 'PersistentVolumeClaim', max: { storage: '1Ti' } }] } },
  'v1 ReplicationController': { spec: { replicas: 1, selector: { app: 'a' }, template } },
  'v1 Event': { involvedObject: { kind: 'Pod', name: 'a', namespace: 'default' }, reason: 'A', message: 'b', type: 'Normal' },
  'apps/v1 Deployment': { spec: { replicas: 2, selector, template, strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } } } },
  'apps/v1 StatefulSet': {
    spec: { selector, template, serviceName: 'a', volumeClaimTemplates: [{ metadata: { name: 'v' }, spec: claim }] },
  },
  'apps/v1 DaemonSet': { spec: { selector, template } },
  'apps/v1 ReplicaSet': { spec: { selector, template } },
  'batch/v1 Job': {
    spec: {
      completions: 2,
      parallelism: 1,
      completionMode: 'Indexed',
      template: { spec: { restartPolicy: 'Never', containers: template.spec.containers } },
    },
  },
  'batch/v1 CronJob': {
    spec: {
      schedule: '*/5 * * * *',
      timeZone: 'Etc/UTC',
      jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: template.spec.containers } } } },
    },
  },
  'autoscaling/v2 HorizontalPodAutoscaler': {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' },
      maxReplicas: 5,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
      behavior: { scaleDown: { policies: [{ type: 'Pods', value: 1, periodSeconds: 15 }] } },
    },
  },
  'networking.k8s.io/v1 Ingress': {
    spec: {
      rules: [
        {
          host: 'a.example.com',
          http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'a', port: { number: 80 } } } }] },
        },
      ],
      tls: [{ hosts: ['a.example.com'] }],
    },
  },
  'networking.k8s.io/v1 NetworkPolicy': {
    spec: {
      podSelector: selector,
      ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }], ports: [{ port: 80, endPort: 90 }] }],
    },
  },
  'networking.k8s.io/v1 ServiceCIDR': { spec: { cidrs: ['10.200.0.0/24'] } },
  'policy/v1 PodDisruptionBudget': { spec: { minAvailable: '50%', selector } },
  'rbac.authorization.k8s.io/v1 ClusterRole': { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
  'rbac.authorization.k8s.io/v1 RoleBinding': {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'User', name: 'a', apiGroup: 'rbac.authorization.k8s.io' }],
  },
  'scheduling.k8s.io/v1 PriorityClass': { value: 5, preemptionPolicy: 'Never' },
  'storage.k8s.io/v1 StorageClass': {
    provisioner: 'a.example.com',
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'a', values: ['b'] }] }],
  },
  'storage.k8s.io/v1 CSIDriver': { spec: { podInfoOnMount: true, volumeLifecycleModes: ['Ephemeral'] } },
  'coordination.k8s.io/v1 Lease': { spec: { holderIdentity: 'a', leaseDurationSeconds: 5, renewTime: '2024-05-01T10:20:30.123456Z' } },
  'discovery.k8s.io/v1 EndpointSlice': {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
    ports: [{ port: 80 }],
  },
  'certificates.k8s.io/v1 CertificateSigningRequest': { spec: { request: 'AAAA', signerName: 'example.com/a', usages: ['client auth'] } },
  'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration': { webhooks: [webhook] },
  'admissionregistration.k8s.io/v1 MutatingWebhookConfiguration': { webhooks: [webhook] },
  'flowcontrol.apiserver.k8s.io/v1 FlowSchema': {
    spec: {
      priorityLevelConfiguration: { name: 'exempt' },
      matchingPrecedence: 10_000,
      rules: [{ subjects: [{ kind: 'User', user: { name: 'nobody' } }], nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/a'] }] }],
    },
  },
  'flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration': {
    spec: {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Queue', queuing: { queues: 8, handSize: 2, queueLengthLimit: 5 } } },
    },
  },
  'resource.k8s.io/v1 ResourceClaim': { spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] } } },
  'resource.k8s.io/v1 DeviceClass': { spec: { selectors: [{ cel: { expression: 'device.driver == "a"' } }] } },
  'authentication.k8s.io/v1 TokenReview': { spec: { token: 'a', audiences: ['b'] } },
  'authorization.k8s.io/v1 SubjectAccessReview': {
    spec: { user: 'a', groups: ['b'], resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } },
  },
  'authorization.k8s.io/v1 SelfSubjectRulesReview': { spec: { namespace: 'default' } },
}
