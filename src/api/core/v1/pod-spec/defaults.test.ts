import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podResource } from '#api/core/v1/pod/pod.ts'
import { defaultPodTemplate } from '#api/core/v1/pod-spec/defaults.ts'
import { defaultPullPolicy, parseImageReference } from '#api/core/v1/pod-spec/image-reference.ts'
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'

const defaulted = (spec: object): V1PodSpec => {
  const pod: V1Pod = { metadata: {}, spec: { containers: [{ name: 'c', image: 'nginx:1' }], ...spec } as V1PodSpec }
  podResource.defaults?.(pod)
  return pod.spec as V1PodSpec
}

test('a pod gets what nobody wants to write', () => {
  assert.deepEqual(defaulted({}), {
    containers: [
      {
        name: 'c',
        image: 'nginx:1',
        imagePullPolicy: 'IfNotPresent',
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      },
    ],
    enableServiceLinks: true,
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    schedulerName: 'default-scheduler',
  })
})

test('a template does not get what only a running pod has', () => {
  const template = {
    spec: { hostNetwork: true, containers: [{ name: 'c', ports: [{ containerPort: 1 }], resources: { limits: { cpu: '1' } } }] },
  }
  defaultPodTemplate(template)
  const spec: V1PodSpec = template.spec
  assert.equal(spec.enableServiceLinks, undefined)
  assert.deepEqual(spec.containers[0]?.ports, [{ containerPort: 1, protocol: 'TCP' }])
  assert.deepEqual(spec.containers[0]?.resources, { limits: { cpu: '1' } })
})

test('limits become requests, and ports of the host those of the container', () => {
  const spec = defaulted({
    hostNetwork: true,
    containers: [
      { name: 'c', ports: [{ containerPort: 80 }], resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } } },
    ],
  })
  assert.deepEqual(spec.containers[0]?.ports, [{ containerPort: 80, protocol: 'TCP', hostPort: 80 }])
  assert.deepEqual(spec.containers[0]?.resources?.requests, { cpu: '500m', memory: '1Gi' })
})

test('resources of the pod are filled in from its containers', () => {
  const containers = [
    { name: 'a', resources: { requests: { cpu: '1' } } },
    { name: 'b', resources: { requests: { cpu: '2' } } },
  ]
  const spec = defaulted({ containers, resources: { limits: { cpu: '5', memory: '1Gi' } } })
  assert.deepEqual(spec.resources?.requests, { cpu: '3', memory: '1Gi' })
})

test('probes, volumes and quantities', () => {
  const spec = defaulted({
    containers: [{ name: 'c', image: 'i', livenessProbe: { httpGet: { port: 1 } }, resources: { requests: { cpu: '1u' } } }],
    volumes: [{ name: 'a' }, { name: 'b', configMap: { name: 'c' } }, { name: 'd', hostPath: { path: '/x' } }],
  })
  assert.deepEqual(spec.containers[0]?.livenessProbe, {
    httpGet: { port: 1, path: '/', scheme: 'HTTP' },
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  })
  assert.deepEqual(spec.containers[0]?.resources?.requests, { cpu: '1m' })
  assert.deepEqual(spec.volumes, [
    { name: 'a', emptyDir: {} },
    { name: 'b', configMap: { name: 'c', defaultMode: 420 } },
    { name: 'd', hostPath: { path: '/x', type: '' } },
  ])
})

test('the service account is known under two names, and negative grace is one second', () => {
  assert.equal(defaulted({ serviceAccount: 's' }).serviceAccountName, 's')
  assert.equal(defaulted({ serviceAccountName: 's', serviceAccount: 't' }).serviceAccount, 's')
  assert.equal(defaulted({ terminationGracePeriodSeconds: -3 }).terminationGracePeriodSeconds, 1)
})

test('images are pulled each time when their tag moves', () => {
  const always = ['nginx', 'nginx:latest', 'localhost/x', 'r.example.com:5000/a/b', 'Registry/x']
  const digest = `sha256:${'0'.repeat(64)}`
  const once = [
    'nginx:1',
    `nginx@${digest}`,
    '',
    'Nginx',
    'a'.repeat(0),
    '0'.repeat(64),
    'nginx:',
    'nginx@sha256:00',
    'r.example.com/A:latest',
  ]
  for (const image of always) assert.equal(defaultPullPolicy(image), 'Always', image)
  for (const image of once) assert.equal(defaultPullPolicy(image), 'IfNotPresent', image)
  assert.deepEqual(parseImageReference(`r.example.com:5000/a/b:1@${digest}`), { repository: 'r.example.com:5000/a/b', tag: '1', digest })
  assert.equal(parseImageReference('nginx')?.repository, 'docker.io/library/nginx')
})
