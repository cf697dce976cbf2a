import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controlPlanePods, type StaticPodFacts } from '#cmd/control-plane/static-pods.ts'

const facts: StaticPodFacts = {
  ...{ dataDir: '/data', address: '10.0.0.1', port: 6443, image: 'host', program: ['/bin/node', '/opt/tn/bin/typernetes.js'] },
  ...{ programDirectories: ['/opt/tn'], etcdServers: ['http://10.0.0.1:2379'], serviceCidrs: '10.96.0.0/16', podCidrs: ['10.244.0.0/16'] },
  ...{ etcdFiles: { etcdCafile: '', etcdCertfile: '', etcdKeyfile: '' }, hasEncryption: true, featureGates: [] },
  ...{ verticalPodAutoscaler: false, version: 'v1.36.4', appliesAddons: false, etcd: undefined, passed: {}, hasScheduler: true },
}

test('a control plane is three static pods on the network of the machine, of this program or of an image', () => {
  const pods = controlPlanePods(facts)
  assert.deepEqual(
    [...pods.keys()],
    ['kube-apiserver.yaml', 'kube-controller-manager.yaml', 'kube-scheduler.yaml', 'typernetes-addons.yaml'],
  )
  for (const pod of pods.values()) {
    assert.equal(pod.spec?.hostNetwork, true)
    assert.equal(pod.spec?.priorityClassName, 'system-node-critical')
    assert.deepEqual(
      pod.spec?.volumes?.map(({ hostPath }) => hostPath?.path),
      ['/data', '/opt/tn', '/data/cache'],
    )
    assert.deepEqual(
      pod.spec?.containers[0]?.volumeMounts?.map(({ readOnly = false }) => readOnly),
      [true, true, false],
    )
  }
  const [command] = pods.get('kube-apiserver.yaml')?.spec?.containers ?? []
  assert.deepEqual(command?.command?.slice(0, 3), ['/bin/node', '/opt/tn/bin/typernetes.js', 'apiserver'])
  assert.ok(command?.command?.includes('--encryption-provider-config=/data/pki/encryption.json'))
  assert.ok(!command?.command?.some((flag) => flag.startsWith('--etcd-cafile')))

  const ofImage = controlPlanePods({ ...facts, image: 'registry.k8s.io/kube-scheduler:v1.36.0' })
  const [scheduler] = ofImage.get('kube-scheduler.yaml')?.spec?.containers ?? []
  assert.equal(scheduler?.command?.[0], 'kube-scheduler')
  assert.deepEqual(
    scheduler?.volumeMounts?.map(({ mountPath }) => mountPath),
    ['/data'],
  )
})

test('what runs beside the components is a pod as they are, and so is etcd, which keeps its data on the machine', () => {
  const etcd = { flags: ['--name=one'], image: 'host' }
  const pods = controlPlanePods({ ...facts, passed: { addons: { flags: ['--listen=10.0.0.1'], reads: [], writes: [] } }, etcd })
  const [addons] = pods.get('typernetes-addons.yaml')?.spec?.containers ?? []
  assert.deepEqual(addons?.command?.slice(2), [
    'addons',
    '--kubeconfig=/data/addons.kubeconfig',
    '--bind-address=127.0.0.1',
    '--listen=10.0.0.1',
  ])
  const applying = controlPlanePods({
    ...facts,
    passed: { addons: { flags: ['--addons-dir=/addons'], reads: ['/addons'], writes: [] } },
    appliesAddons: true,
  })
  const [manager] = applying.get('typernetes-addons.yaml')?.spec?.containers ?? []
  assert.deepEqual(manager?.command?.slice(-2), ['--addons-kubeconfig=/data/addon-manager.kubeconfig', '--addons-dir=/addons'])
  assert.ok(manager?.volumeMounts?.some(({ mountPath, readOnly }) => mountPath === '/addons' && readOnly))
  const { spec } = pods.get('etcd.yaml') ?? assert.fail()
  assert.deepEqual(spec.containers[0]?.command, ['etcd', '--name=one'])
  assert.deepEqual(
    spec.containers[0]?.volumeMounts?.map(({ mountPath, readOnly = false }) => [mountPath, readOnly]),
    [
      ['/data/etcd', false],
      ['/data/pki', true],
    ],
  )
})

test('pods of another version of the program are other pods to the kubelet, but for etcd, which is not of it', () => {
  const etcd = { flags: [], image: 'host' }
  const [before, after] = ['v1.35.9', 'v1.36.4'].map((version) => controlPlanePods({ ...facts, etcd, version }))
  const changed = [...(before ?? [])].filter(([name, pod]) => JSON.stringify(pod) !== JSON.stringify(after?.get(name)))
  assert.deepEqual(
    changed.map(([name]) => name),
    ['kube-apiserver.yaml', 'kube-controller-manager.yaml', 'kube-scheduler.yaml', 'typernetes-addons.yaml'],
  )
})
