import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { containerConfig } from '#kubelet/runtimes/cri/container-config.ts'
import { planIn } from '#kubelet/runtimes/cri/labels.ts'
import { sandboxConfig } from '#kubelet/runtimes/cri/sandbox-config.ts'
import { namespacesOf, type SecurityOptions } from '#kubelet/runtimes/cri/security-context.ts'
import { freeUserRange, userNamespaceFrom } from '#kubelet/runtimes/cri/user-namespaces.ts'
import { namespaceModes, profileTypes } from '#wire/cri/cri-types.ts'

const security = { seccompDirectory: '/profiles', defaultSeccomp: 'Unconfined' as const }
const capacity = { memoryBytes: 2 ** 30, hugePageSizes: [] }
const aPod = (spec: Partial<V1Pod['spec']> = {}, metadata: Partial<V1Pod['metadata']> = {}): V1Pod => ({
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', ...metadata },
  spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
})
const configOf = (pod: V1Pod, container: Partial<V1Container> = {}, kept: SecurityOptions = security) =>
  containerConfig(
    pod,
    { name: 'app', image: 'app:1', ...container },
    {
      ...{ imageRef: 'sha256:1', env: [{ name: 'A', value: 'b' }], terminationMessageFile: '/messages/1' },
      mounts: [{ containerPath: '/data', hostPath: '/host', isReadOnly: true, propagation: 'bidirectional' }],
      volumeGroups: [5],
    },
    { attempt: 3, imageUser: { username: '', uid: 0 }, namespaces: namespacesOf(pod, undefined), capacity, security: kept },
  )
const securityOf = (pod: V1Pod, container: Partial<V1Container> = {}) => configOf(pod, container).linux?.securityContext ?? {}

test('a container is told of with the labels that other tools of a node read', () => {
  const ports = [{ containerPort: 80 }]
  const config = configOf(aPod({ terminationGracePeriodSeconds: 30 }), { ports, lifecycle: { preStop: { exec: { command: ['bye'] } } } })
  assert.deepEqual(config.labels, {
    'io.kubernetes.pod.name': 'web',
    'io.kubernetes.pod.namespace': 'shop',
    'io.kubernetes.pod.uid': 'u1',
    'io.kubernetes.container.name': 'app',
  })
  assert.deepEqual(config.annotations, {
    'io.kubernetes.container.restartCount': '3',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.pod.terminationGracePeriod': '30',
    'io.kubernetes.container.preStopHandler': '{"exec":{"command":["bye"]}}',
    'io.kubernetes.container.ports': '[{"containerPort":80}]',
    'node.typernetes.dev/termination-message-file': '/messages/1',
    'node.typernetes.dev/image': 'app:1',
  })
  assert.deepEqual([config.logPath, config.image.image, config.image.userSpecifiedImage], ['app/3.log', 'sha256:1', 'app:1'])
  assert.deepEqual(config.mounts?.[0], {
    ...{ containerPath: '/data', hostPath: '/host', readonly: true, recursiveReadOnly: false, propagation: 2, selinuxRelabel: false },
  })
})

test('a node may give its seccomp profile to whoever has none of its own', () => {
  const all = { ...security, defaultSeccomp: 'RuntimeDefault' as const }
  const profileOf = (pod: V1Pod) => configOf(pod, {}, all).linux?.securityContext?.seccomp?.profileType
  assert.equal(profileOf(aPod()), profileTypes.RuntimeDefault)
  assert.equal(profileOf(aPod({ securityContext: { seccompProfile: { type: 'Unconfined' } } })), profileTypes.Unconfined)
})

test('groups are those of the pod and of its volumes', () => {
  const pod = aPod({ securityContext: { fsGroup: 3, supplementalGroups: [4], supplementalGroupsPolicy: 'Strict' } })
  assert.deepEqual([securityOf(pod).supplementalGroups, securityOf(pod).supplementalGroupsPolicy], [[3, 4, 5], 1])
})

test('the container decides before its pod', () => {
  const pod = aPod({ securityContext: { runAsUser: 1, runAsGroup: 2, seccompProfile: { type: 'RuntimeDefault' } } })
  const own = securityOf(pod, { securityContext: { runAsUser: 7, seccompProfile: { type: 'Localhost', localhostProfile: 'a/b.json' } } })
  assert.deepEqual([own.runAsUser?.value, own.runAsGroup?.value], [7, 2])
  assert.deepEqual(own.seccomp, { profileType: profileTypes.Localhost, localhostRef: '/profiles/a/b.json' })
  assert.equal(securityOf(pod).seccomp?.profileType, profileTypes.RuntimeDefault)
  assert.equal(securityOf(aPod()).seccomp?.profileType, profileTypes.Unconfined)
})

test('profiles of AppArmor come from fields, or from the annotations of before', () => {
  const annotations = { 'container.apparmor.security.beta.kubernetes.io/app': 'localhost/strict' }
  const old = securityOf(aPod({}, { annotations }))
  assert.deepEqual([old.apparmor, old.apparmorProfile], [{ profileType: 2, localhostRef: 'strict' }, 'localhost/strict'])
  const field = securityOf(aPod({ securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }))
  assert.equal(field.apparmorProfile, 'runtime/default')
})

test('parts of /proc are hidden unless the container shall see them', () => {
  assert.ok(securityOf(aPod()).maskedPaths?.includes('/proc/kcore'))
  assert.deepEqual(securityOf(aPod(), { securityContext: { procMount: 'Unmasked' } }).maskedPaths, [])
})

test('namespaces are the node’s, the pod’s or the container’s', () => {
  const { node, pod, container } = namespaceModes
  assert.deepEqual(namespacesOf(aPod(), undefined), { network: pod, ipc: pod, pid: container })
  assert.deepEqual(namespacesOf(aPod({ hostNetwork: true, hostIPC: true, hostPID: true }), undefined), {
    network: node,
    ipc: node,
    pid: node,
  })
  assert.deepEqual(namespacesOf(aPod({ shareProcessNamespace: true }), userNamespaceFrom(65_536)), {
    ...{ network: pod, ipc: pod, pid: pod },
    usernsOptions: {
      mode: 0,
      uids: [{ hostId: 65_536, containerId: 0, length: 65_536 }],
      gids: [{ hostId: 65_536, containerId: 0, length: 65_536 }],
    },
  })
})

test('ranges of users are those nobody has', () => {
  const taken = (start: number) => ({ annotations: { 'node.typernetes.dev/user-namespace': String(start) } })
  assert.equal(freeUserRange([], new Set()), 65_536)
  assert.equal(freeUserRange([taken(65_536), { annotations: {} }], new Set([131_072])), 196_608)
})

test('a sandbox is told of, and its plan can be read from it again', () => {
  const plan = { hostname: 'web', logDirectory: '/logs', runtimeHandler: 'kata', dns: { servers: ['1.1.1.1'], searches: [], options: [] } }
  const pod = aPod(
    {
      containers: [{ name: 'app', ports: [{ containerPort: 80, hostPort: 8080, protocol: 'UDP' }] }],
      initContainers: [
        { name: 'once', ports: [{ containerPort: 1, hostPort: 1 }] },
        { name: 'proxy', restartPolicy: 'Always', ports: [{ containerPort: 81 }], securityContext: { privileged: true } },
      ],
      securityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '5' }] },
    },
    { labels: { app: 'web' }, annotations: { note: 'x' } },
  )
  const config = sandboxConfig(pod, plan, { attempt: 1, cgroupParent: '/kubepods/podu1' })
  assert.deepEqual(config.metadata, { name: 'web', namespace: 'shop', uid: 'u1', attempt: 1 })
  assert.deepEqual(config.portMappings, [
    { protocol: 0, containerPort: 81, hostPort: 0, hostIp: '' },
    { protocol: 1, containerPort: 80, hostPort: 8080, hostIp: '' },
  ])
  assert.equal(config.labels?.['app'], 'web')
  assert.equal(config.annotations?.['note'], 'x')
  assert.deepEqual(planIn(config.annotations ?? {}), plan)
  assert.deepEqual(config.linux?.sysctls, { 'net.core.somaxconn': '5' })
  assert.equal(config.linux?.securityContext?.privileged, true)
  assert.equal(config.linux?.cgroupParent, '/kubepods/podu1')
  assert.equal(sandboxConfig(aPod({ hostNetwork: true }), plan, { attempt: 0, cgroupParent: '' }).hostname, '')
})
