/** What ownership costs each write: applying a Deployment, and noting the owners of an ordinary create and update. */

import { allBut } from '#api/meta/apply/field-filter.ts'
import { FieldManager } from '#api/meta/apply/field-manager.ts'
import { emptyObject, mergeTypeOf } from '#api/meta/apply/schema-merge-type.ts'
import { applyPatch } from '#api/meta/patch/apply-patch.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import type { Bench } from '../scripts/bench.ts'

const time = '2026-01-01T00:00:00Z'

function managerOf(apiVersion: string, kind: string, schemaName: string, subresource = ''): FieldManager {
  const schema = schemaOf(schemaName)
  const filter = allBut([subresource === 'status' ? 'spec' : 'status'])
  return new FieldManager({ apiVersion, kind, type: mergeTypeOf(schema), empty: emptyObject(schema), subresource, filterAt: () => filter })
}

const container = (name: string) => ({
  name,
  image: `registry.example.com/${name}:1.2.3`,
  command: ['/bin/server'],
  args: ['--port=8080', '--verbose'],
  env: [
    { name: 'MODE', value: 'production' },
    { name: 'REGION', value: 'eu-1' },
    { name: 'POD', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
  ],
  ports: [
    { containerPort: 8080, name: 'http', protocol: 'TCP' },
    { containerPort: 9090, name: 'metrics', protocol: 'TCP' },
  ],
  resources: { limits: { cpu: '1', memory: '512Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
  livenessProbe: { httpGet: { path: '/healthz', port: 'http', scheme: 'HTTP' }, periodSeconds: 10, timeoutSeconds: 1, failureThreshold: 3 },
  readinessProbe: { httpGet: { path: '/ready', port: 'http', scheme: 'HTTP' }, periodSeconds: 5, timeoutSeconds: 1, failureThreshold: 3 },
  volumeMounts: [
    { name: 'config', mountPath: '/etc/config', readOnly: true },
    { name: 'data', mountPath: '/var/data' },
  ],
})

const podSpec = () => ({
  containers: [container('app'), container('sidecar')],
  serviceAccountName: 'app',
  securityContext: { runAsNonRoot: true, fsGroup: 1000 },
  volumes: [
    { name: 'config', configMap: { name: 'config' } },
    { name: 'data', emptyDir: {} },
  ],
})

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'app', namespace: 'default', labels: { app: 'app', tier: 'web' }, annotations: { owner: 'team' } },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'app' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: { metadata: { labels: { app: 'app', tier: 'web' } }, spec: podSpec() },
  },
}

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'app-1', namespace: 'default', labels: { app: 'app', tier: 'web' } },
  spec: {
    ...podSpec(),
    nodeName: 'node-1',
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    terminationGracePeriodSeconds: 30,
  },
  status: {
    phase: 'Running',
    podIP: '10.0.0.7',
    hostIP: '192.168.0.2',
    startTime: time,
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: time,
    })),
    containerStatuses: [
      { name: 'app', ready: true, restartCount: 0, image: 'x', imageID: 'y', containerID: 'z', state: { running: { startedAt: time } } },
    ],
  },
}

type Tracked = KubernetesObject & { metadata: { uid?: string } }

function stored<T extends KubernetesObject>(object: T): T {
  return frozen({ ...object, metadata: { ...object.metadata, uid: 'u', resourceVersion: '1' } })
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const inside of Object.values(Object.freeze(value) as object)) frozen(inside)
  return value
}

/** Microseconds a call, the best of some rounds: the machine may be busy with other things. */
function microseconds(action: () => unknown): number {
  for (let index = 0; index < 2_000; index++) action()
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 12; round++) {
    const start = performance.now()
    for (let index = 0; index < 500; index++) action()
    best = Math.min(best, ((performance.now() - start) * 1000) / 500)
  }
  return best
}

export default async function applyBench({ report }: Bench): Promise<void> {
  const deployments = managerOf('apps/v1', 'Deployment', 'io.k8s.api.apps.v1.Deployment')
  const live = stored(deployments.applied(undefined, deployment, { manager: 'kubectl', time }))
  const changed = structuredClone(deployment)
  changed.spec.replicas = 4
  const { annotations: _, ...withoutAnnotations } = structuredClone(deployment.metadata)
  const less = { ...structuredClone(deployment), metadata: withoutAnnotations }
  const cases: [string, () => unknown][] = [
    ['apply a Deployment: create', () => deployments.applied(undefined, deployment, { manager: 'kubectl', time })],
    ['apply a Deployment: nothing changed', () => deployments.applied(live, deployment, { manager: 'kubectl', time })],
    ['apply a Deployment: one field changed', () => deployments.applied(live, changed, { manager: 'kubectl', time })],
    ['apply a Deployment: one field given up', () => deployments.applied(live, less, { manager: 'kubectl', time })],
  ]
  for (const [name, action] of cases)
    report({ case: name, figure: microseconds(action), unit: 'µs', comparedWith: 'at most 150', ratio: microseconds(action) / 150 })

  const pods = managerOf('v1', 'Pod', 'io.k8s.api.core.v1.Pod')
  const statuses = managerOf('v1', 'Pod', 'io.k8s.api.core.v1.Pod', 'status')
  const created = stored(pods.updated(undefined, structuredClone(pod) as Tracked, { manager: 'kubectl', time }))
  const running = stored(
    statuses.updated(created, structuredClone({ ...created, status: { ...pod.status, phase: 'Pending' } }) as Tracked, {
      manager: 'kubelet',
      time,
    }),
  )
  const next = structuredClone(running) as Tracked
  const relabelled = {
    ...structuredClone(running),
    metadata: { ...structuredClone(running.metadata), labels: { app: 'app', tier: 'other' } },
  } as Tracked
  const ready = { ...structuredClone(running), status: structuredClone(pod.status) } as Tracked
  const fresh = (object: Tracked): Tracked => ({
    ...object,
    metadata: { ...object.metadata, managedFields: running.metadata.managedFields ?? [] },
  })
  const updates: [string, () => unknown][] = [
    [
      'note the owners of a Pod: create',
      () => pods.updated(undefined, { ...pod, metadata: { ...pod.metadata } } as Tracked, { manager: 'kubectl', time }),
    ],
    ['note the owners of a Pod: nothing changed', () => pods.updated(running, fresh(next), { manager: 'kubectl', time })],
    ['note the owners of a Pod: a label changed', () => pods.updated(running, fresh(relabelled), { manager: 'labeller', time })],
    ['note the owners of a Pod: status changed', () => statuses.updated(running, fresh(ready), { manager: 'kubelet', time })],
  ]
  for (const [name, action] of updates) report({ case: name, figure: microseconds(action), unit: 'µs' })

  const schema = schemaOf('io.k8s.api.core.v1.Pod')
  const patches: [string, () => unknown][] = [
    ['JSON patch of a Pod', () => applyPatch('json', running, [{ op: 'replace', path: '/metadata/labels/tier', value: 'x' }])],
    ['merge patch of a Pod', () => applyPatch('merge', running, { metadata: { labels: { tier: 'x' } } })],
    [
      'strategic merge patch of a Pod',
      () => applyPatch('strategic', running, { spec: { containers: [{ name: 'app', image: 'x' }] } }, schema),
    ],
  ]
  for (const [name, action] of patches) report({ case: name, figure: microseconds(action), unit: 'µs' })
}
