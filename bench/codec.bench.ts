/** Objects to bytes and back in each format, measured against what JavaScript does bare. */
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canonicalize, decodeJson, encodeCanonicalJson, encodeJson } from '#api/codec/json.ts'
import { encodeProtobuf, readProtobuf } from '#api/codec/protobuf.ts'
import { encodeYaml, readYaml } from '#api/codec/yaml.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Bench } from '../scripts/bench.ts'

const type = 'io.k8s.api.core.v1.Pod'
const rounds = 7
const roundMs = 150

export default async function codec(bench: Bench): Promise<void> {
  const pod = canonicalize(typicalPod(), type)
  const json = encodeJson(pod, type)
  const protobuf = encodeProtobuf(pod, type)
  const yaml = encodeYaml(pod)

  const parse = (): unknown => JSON.parse(json.toString())
  const stringify = (): unknown => Buffer.from(JSON.stringify(pod))
  const compare = (name: string, act: () => unknown, comparedWith: string, bare: () => unknown): void => {
    const [figure = 0, bareFigure = 0] = perSecond(act, bare)
    bench.report({ case: name, figure, unit: 'pods/s', comparedWith, ratio: bareFigure / figure })
  }
  compare(`JSON decode (${json.length} bytes)`, () => decodeJson(json, type), 'JSON.parse', parse)
  compare('JSON encode', () => encodeCanonicalJson(pod), 'JSON.stringify', stringify)
  compare('JSON canonicalize and encode', () => encodeJson(pod, type), 'JSON.stringify', stringify)
  compare(`protobuf encode (${protobuf.length} bytes)`, () => encodeProtobuf(pod, type), 'JSON.stringify', stringify)
  compare('protobuf decode', () => readProtobuf(protobuf).decode(type), 'JSON.parse', parse)
  bench.report({ case: 'YAML encode', figure: perSecond(() => encodeYaml(pod))[0] ?? 0, unit: 'pods/s' })
  bench.report({ case: 'YAML decode', figure: perSecond(() => readYaml(yaml).decode(type))[0] ?? 0, unit: 'pods/s' })
  bench.report({ case: 'load the schema, find and read a type', figure: schemaLoadMs(), unit: 'ms' })
}

/** Of each, the best of several rounds, which they take in turns: the others were disturbed. */
function perSecond(...acts: (() => unknown)[]): number[] {
  const best = acts.map(() => 0)
  for (let round = 0; round < rounds; round++) {
    for (const [index, act] of acts.entries()) best[index] = Math.max(best[index] ?? 0, oneRound(act))
  }
  return best
}

function oneRound(act: () => unknown): number {
  const startMs = performance.now()
  let count = 0
  let elapsedMs = 0
  while (elapsedMs < roundMs) {
    for (let each = 0; each < 200; each++) act()
    count += 200
    elapsedMs = performance.now() - startMs
  }
  return (count / elapsedMs) * 1000
}

/** In a process of its own, with the compile cache that the launcher gives every process. */
function schemaLoadMs(): number {
  const script = `
    const startMs = performance.now()
    const { schemaNameOf, schemaOf } = await import('#api/schema/schema.ts')
    schemaOf(schemaNameOf({ group: 'apps', version: 'v1', kind: 'Deployment' }))
    console.log(performance.now() - startMs)`
  const run = (): number =>
    Number(
      execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
        cwd: join(import.meta.dirname, '..'),
        env: { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'codec-bench-compile-cache') },
      }).toString(),
    )
  return Math.min(run(), run(), run())
}

/** As a cluster holds thousands of them: one container, a token volume, owners, conditions. */
function typicalPod(): V1Pod {
  const fields = (...names: string[]): Record<string, never> =>
    Object.fromEntries(names.map((name) => [`f:${name}`, {}])) as Record<string, never>
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: 'web-7d4b9c6f5d-x2x7k',
      generateName: 'web-7d4b9c6f5d-',
      namespace: 'default',
      uid: '5b3f0d3e-7f0a-4a58-9f3b-0b6a3a1f8f2c',
      generation: 1,
      creationTimestamp: '2024-05-01T10:20:30Z',
      labels: { app: 'web', 'pod-template-hash': '7d4b9c6f5d', tier: 'frontend' },
      annotations: { 'prometheus.io/port': '8080', 'prometheus.io/scrape': 'true' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'web-7d4b9c6f5d',
          uid: '0d9bbd8a-8b1c-4f0e-9d57-4b1f0a4d3b11',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: [
        {
          manager: 'kube-controller-manager',
          operation: 'Update',
          apiVersion: 'v1',
          time: '2024-05-01T10:20:30Z',
          fieldsType: 'FieldsV1',
          fieldsV1: {
            'f:metadata': { ...fields('generateName'), 'f:labels': { '.': {}, ...fields('app', 'pod-template-hash', 'tier') } },
            'f:spec': {
              ...fields('dnsPolicy', 'restartPolicy', 'schedulerName', 'terminationGracePeriodSeconds'),
              'f:containers': {
                'k:{"name":"app"}': {
                  '.': {},
                  ...fields('image', 'imagePullPolicy', 'name', 'terminationMessagePath', 'terminationMessagePolicy'),
                  'f:ports': {
                    '.': {},
                    'k:{"containerPort":8080,"protocol":"TCP"}': { '.': {}, ...fields('containerPort', 'name', 'protocol') },
                  },
                  'f:resources': {
                    '.': {},
                    'f:limits': { '.': {}, ...fields('cpu', 'memory') },
                    'f:requests': { '.': {}, ...fields('cpu', 'memory') },
                  },
                },
              },
            },
          },
        },
      ],
    },
    spec: {
      volumes: [
        { name: 'config', configMap: { name: 'web-config', defaultMode: 420 } },
        {
          name: 'kube-api-access-abcde',
          projected: {
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
              { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
            ],
            defaultMode: 420,
          },
        },
      ],
      containers: [
        {
          name: 'app',
          image: 'registry.example.com/team/web:1.2.3',
          args: ['--listen=:8080', '--config=/etc/web/config.yaml'],
          ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
          env: [
            { name: 'MODE', value: 'production' },
            { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
          ],
          resources: { limits: { cpu: '500m', memory: '256Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
          volumeMounts: [
            { name: 'config', mountPath: '/etc/web' },
            { name: 'kube-api-access-abcde', readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
          ],
          livenessProbe: {
            httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' },
            timeoutSeconds: 1,
            periodSeconds: 10,
            successThreshold: 1,
            failureThreshold: 3,
          },
          readinessProbe: {
            httpGet: { path: '/readyz', port: 'http', scheme: 'HTTP' },
            timeoutSeconds: 1,
            periodSeconds: 10,
            successThreshold: 1,
            failureThreshold: 3,
          },
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'IfNotPresent',
          securityContext: { capabilities: { drop: ['ALL'] }, runAsNonRoot: true, allowPrivilegeEscalation: false },
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      serviceAccountName: 'web',
      serviceAccount: 'web',
      nodeName: 'node-17',
      securityContext: { runAsUser: 1000, fsGroup: 2000 },
      schedulerName: 'default-scheduler',
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
      priority: 0,
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
    },
    status: {
      observedGeneration: 1,
      phase: 'Running',
      conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((condition) => ({
        type: condition,
        status: 'True',
        lastTransitionTime: '2024-05-01T10:20:40Z',
      })),
      hostIP: '10.0.0.17',
      hostIPs: [{ ip: '10.0.0.17' }],
      podIP: '10.244.3.5',
      podIPs: [{ ip: '10.244.3.5' }],
      startTime: '2024-05-01T10:20:31Z',
      containerStatuses: [
        {
          name: 'app',
          state: { running: { startedAt: '2024-05-01T10:20:39Z' } },
          ready: true,
          restartCount: 0,
          image: 'registry.example.com/team/web:1.2.3',
          imageID: 'registry.example.com/team/web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
          containerID: 'containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
          started: true,
        },
      ],
      qosClass: 'Burstable',
    },
  }
}
