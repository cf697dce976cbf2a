import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Secret, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeMounts } from '#base/mounts.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'

const skip = cannotMount
const base64 = (text: string) => Buffer.from(text).toString('base64')

test('a pod with its service account token, config map, secret, emptyDir and variables', { skip }, async () => {
  await using node = await TestNode.start()
  const { client } = node.cluster
  await client.create(ServiceAccount, { metadata: { name: 'default', namespace: 'default' } } as V1ServiceAccount)
  await client.create(ConfigMap, { metadata: { name: 'settings', namespace: 'default' }, data: { color: 'blue' } })
  await client.create(ConfigMap, { metadata: { name: 'kube-root-ca.crt', namespace: 'default' }, data: { 'ca.crt': 'CA' } })
  await client.create(Secret, { metadata: { name: 'door', namespace: 'default' }, data: { key: base64('sesame') } })
  const pod = await node.create({
    serviceAccountName: 'default',
    volumes: [
      {
        name: 'kube-api-access',
        projected: {
          sources: [
            { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
          ],
        },
      },
      { name: 'settings', configMap: { name: 'settings' } },
      { name: 'door', secret: { secretName: 'door', defaultMode: 0o400 } },
      { name: 'scratch', emptyDir: {} },
      { name: 'unused', secret: { secretName: 'nobody-has-it' } },
    ],
    containers: [
      {
        name: 'app',
        image: 'app:1',
        command: ['serve', '$(COLOR)', '$$(COLOR)', '$(NONE)'],
        env: [
          { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
          { name: 'DOOR', value: 'open $(KEY)' },
        ],
        envFrom: [{ secretRef: { name: 'door' }, prefix: 'K' }],
        volumeMounts: [
          { name: 'kube-api-access', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true },
          { name: 'settings', mountPath: '/settings' },
          { name: 'door', mountPath: '/door' },
          { name: 'scratch', mountPath: '/scratch' },
        ],
      },
    ],
  })
  const sandbox = await node.sandbox(pod)
  const uid = pod.metadata.uid ?? ''
  assert.deepEqual(sandbox, {
    hostname: 'web',
    dns: { servers: ['10.96.0.10'], searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local'], options: ['ndots:5'] },
    logDirectory: `${node.root}/logs/default_web_${uid}`,
    runtimeHandler: '',
  })
  const plan = await node.container(pod)
  assert.equal(plan.imageRef, 'sha256:app:1')
  assert.deepEqual(plan.command, ['serve', 'blue', '$(COLOR)', '$(NONE)'])
  const env = new Map(plan.env.map(({ name, value }) => [name, value]))
  assert.equal(env.get('COLOR'), 'blue')
  assert.equal(env.get('Kkey'), 'sesame')
  assert.equal(env.get('DOOR'), 'open $(KEY)')
  assert.equal(env.get('KUBERNETES_SERVICE_HOST'), '10.96.0.1')
  assert.equal(env.get('KUBERNETES_PORT_443_TCP'), 'tcp://10.96.0.1:443')
  const account = '/var/run/secrets/kubernetes.io/serviceaccount'
  assert.match(await node.read(plan, `${account}/token`), /^ey[\w-]+\.ey[\w-]+\.[\w-]+$/)
  assert.equal(await node.read(plan, `${account}/ca.crt`), 'CA')
  assert.equal(await node.read(plan, `${account}/namespace`), 'default')
  assert.equal(await node.read(plan, '/settings/color'), 'blue')
  assert.equal(await node.read(plan, '/door/key'), 'sesame')
  assert.equal((await nodeFiles.statTarget(await node.seen(plan, '/door/key')))?.mode, 0o400)
  assert.equal((await nodeFiles.stat(await node.seen(plan, '/scratch')))?.mode, 0o777)
  assert.match(
    await node.read(plan, '/etc/hosts'),
    /^# Kubernetes-managed hosts file\.\n127\.0\.0\.1\tlocalhost\n(?:.*\n)*10\.244\.0\.5\tweb\n$/,
  )
  assert.equal((await nodeFiles.stat(plan.terminationMessageFile ?? ''))?.mode, 0o666)
  // What is secret is in memory.
  assert.deepEqual((await nodeMounts.below(node.root)).map((place) => place.slice(node.root.length)).sort(), [
    `/pods/${uid}/volumes/kubernetes.io~projected/kube-api-access`,
    `/pods/${uid}/volumes/kubernetes.io~secret/door`,
  ])
  assert.deepEqual(node.events, [])

  await client.update(ConfigMap, { metadata: { name: 'settings', namespace: 'default' }, data: { shape: 'round' } })
  await node.settle()
  assert.equal(await node.read(plan, '/settings/shape'), 'round')
  assert.deepEqual(
    (await nodeFiles.list(await node.seen(plan, '/settings'))).filter((name) => !name.startsWith('..2')),
    ['..data', 'shape'],
  )

  await node.now(node.runtimeHelper.cleanUp(pod))
  assert.deepEqual(await nodeMounts.below(node.root), [])
  assert.deepEqual(await nodeFiles.list(`${node.root}/pods`), [])
  assert.deepEqual(await nodeFiles.list(`${node.root}/logs`), [])
  await node.now(node.runtimeHelper.cleanUp(pod))
})

test('a pod with the network of its node has the node’s addresses as its own, though its sandbox has none', { skip }, async () => {
  await using node = await TestNode.start()
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })
  const env = [field('HOST_IP', 'status.hostIP'), field('POD_IP', 'status.podIP'), field('POD_IPS', 'status.podIPs')]
  const pod = await node.create({ hostNetwork: true, containers: [{ name: 'app', image: 'app:1', env }] })
  await node.sandbox(pod)
  const { env: variables } = await node.container(pod, 'app', [])
  const values = Object.fromEntries(variables.map(({ name, value }) => [name, value]))
  assert.notEqual(values['HOST_IP'], '')
  assert.deepEqual([values['POD_IP'], values['POD_IPS']], [values['HOST_IP'], values['HOST_IP']])
})
