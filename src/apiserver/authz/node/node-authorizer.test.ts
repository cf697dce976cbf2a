import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1PersistentVolume, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { Attributes, FieldRequirement } from '#apiserver/authz/authorizer.ts'
import { nodeAuthorizer } from '#apiserver/authz/node/node-authorizer.ts'
import { NodeGraph } from '#apiserver/authz/node/node-graph.ts'
import { defaultRbacObjects } from '#apiserver/authz/rbac/default-roles.ts'
import type { ClusterRole } from '#apiserver/authz/rbac/rbac-objects.ts'
import { defined } from '#base/defined.ts'
import { seededRandom } from '#base/random.ts'

const nodeRole = defaultRbacObjects().find(({ object }) => object.metadata.name === 'system:node')
const rules = (nodeRole?.object as ClusterRole | undefined)?.rules ?? []

function pod(name: string, node: string, spec: Partial<V1PodSpec> = {}, more: Partial<V1Pod> = {}): V1Pod {
  return {
    metadata: { namespace: 'ns', name, uid: `${name}-1` },
    spec: { nodeName: node, containers: [{ name: 'c' }], ...spec },
    ...more,
  } as V1Pod
}

/** A pod on n1 that refers to one of everything, and a small one on n2. */
function cluster(): NodeGraph {
  const graph = new NodeGraph()
  graph.upsertPod(
    pod(
      'web',
      'n1',
      {
        serviceAccountName: 'sa',
        imagePullSecrets: [{ name: 'pull' }],
        containers: [
          {
            name: 'c',
            env: [
              { name: 'a', valueFrom: { secretKeyRef: { name: 'env-secret', key: 'k' } } },
              { name: 'b', valueFrom: { configMapKeyRef: { name: 'env-config', key: 'k' } } },
            ],
            envFrom: [{ secretRef: { name: 'from-secret' } }, { configMapRef: { name: 'from-config' } }],
          },
        ],
        initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'init-secret' } }] }],
        ephemeralContainers: [{ name: 'e', envFrom: [{ secretRef: { name: 'debug-secret' } }] }],
        volumes: [
          { name: 's', secret: { secretName: 'volume-secret' } },
          { name: 'm', configMap: { name: 'volume-config' } },
          { name: 'p', projected: { sources: [{ secret: { name: 'projected-secret' } }, { configMap: { name: 'kube-root-ca.crt' } }] } },
          { name: 'c', csi: { driver: 'd', nodePublishSecretRef: { name: 'csi-secret' } } },
          { name: 'r', persistentVolumeClaim: { claimName: 'claim' } },
          { name: 'e', ephemeral: { volumeClaimTemplate: { spec: {} } } },
        ],
        resourceClaims: [
          { name: 'direct', resourceClaimName: 'gpu' },
          { name: 'made', resourceClaimTemplateName: 't' },
        ],
      },
      { status: { resourceClaimStatuses: [{ name: 'made', resourceClaimName: 'gpu-made' }] } },
    ),
  )
  graph.upsertPod(pod('other', 'n2', { serviceAccountName: 'other-sa', volumes: [{ name: 's', secret: { secretName: 'other-secret' } }] }))
  graph.upsertPod(
    pod(
      'static',
      'n1',
      { volumes: [{ name: 's', secret: { secretName: 'mirrored' } }] },
      { metadata: { namespace: 'ns', name: 'static', uid: 's', annotations: { 'kubernetes.io/config.mirror': 'x' } } },
    ),
  )
  graph.upsertPod(pod('pending', '', { volumes: [{ name: 's', secret: { secretName: 'pending-secret' } }] }))
  graph.upsertPersistentVolume(volume('pv', 'claim'))
  graph.upsertPersistentVolume(volume('free', undefined))
  graph.upsertOfNode('volumeAttachment', '', 'att', 'n1')
  graph.upsertOfNode('resourceSlice', '', 'slice', 'n1')
  return graph
}

function volume(name: string, claim: string | undefined): V1PersistentVolume {
  return {
    metadata: { name },
    spec: {
      ...defined({ claimRef: claim === undefined ? undefined : { namespace: 'ns', name: claim } }),
      csi: {
        driver: 'd',
        volumeHandle: 'h',
        nodeStageSecretRef: { namespace: 'storage', name: `${name}-stage` },
        controllerPublishSecretRef: { namespace: 'storage', name: `${name}-controller` },
      },
    },
  } as V1PersistentVolume
}

const authorizer = nodeAuthorizer({ graph: cluster(), rules })

/** `get secrets ns name`; a field selector may follow as `spec.nodeName=n1`. */
function asks(text: string, node = 'n1', groups = ['system:nodes']): Attributes {
  const [verb = '', what = '', namespace = '-', name = '', selector] = text.split(' ')
  const [full = '', ...group] = what.split('.')
  const [resource = '', subresource = ''] = full.split('/')
  const [field = '', value = ''] = selector?.split('=') ?? []
  const fieldSelector: FieldRequirement[] | undefined = selector === undefined ? undefined : [{ field, operator: '=', value }]
  return {
    user: { name: `system:node:${node}`, groups, extra: {} },
    verb,
    group: group.join('.'),
    version: 'v1',
    resource,
    subresource,
    namespace: namespace === '-' ? '' : namespace,
    name: name === '-' ? '' : name,
    path: '',
    isResourceRequest: true,
    fieldSelector,
  }
}

const unrelated = "no relationship found between node 'n1' and this object"
const table: [string, true | string][] = [
  ...['pull', 'env-secret', 'from-secret', 'init-secret', 'debug-secret', 'volume-secret', 'projected-secret', 'csi-secret'].map(
    (name): [string, true] => [`get secrets ns ${name}`, true],
  ),
  ...['env-config', 'from-config', 'volume-config', 'kube-root-ca.crt'].map((name): [string, true] => [`get configmaps ns ${name}`, true]),
  ['watch secrets ns volume-secret', true],
  ['list configmaps ns volume-config', true],
  ['list secrets ns', 'No Object name found'],
  ['list secrets -', 'can only read namespaced object of this type'],
  ['update secrets ns volume-secret', 'can only read resources of this type'],
  ['delete configmaps ns volume-config', 'can only read resources of this type'],
  ['get secrets ns other-secret', unrelated],
  ['get secrets other volume-secret', unrelated],
  ['get secrets ns mirrored', unrelated],
  ['get secrets ns pending-secret', unrelated],
  ['get secrets ns nope', unrelated],
  ['get secrets storage pv-stage', true],
  ['get secrets storage pv-controller', unrelated],
  ['get secrets storage free-stage', unrelated],
  ['get persistentvolumeclaims ns claim', true],
  ['get persistentvolumeclaims ns web-e', true],
  ['get persistentvolumeclaims ns other', unrelated],
  ['list persistentvolumeclaims ns', 'can only get individual resources of this type'],
  ['update persistentvolumeclaims/status ns claim', true],
  ['get persistentvolumeclaims/status ns claim', 'can only get/update/patch this type'],
  ['get persistentvolumes - pv', true],
  ['get persistentvolumes - free', unrelated],
  ['get resourceclaims.resource.k8s.io ns gpu', true],
  ['get resourceclaims.resource.k8s.io ns gpu-made', true],
  ['get resourceclaims.resource.k8s.io ns other', unrelated],
  ['get volumeattachments.storage.k8s.io - att', true],
  ['get volumeattachments.storage.k8s.io - nope', unrelated],
  ['create serviceaccounts/token ns sa', true],
  ['create serviceaccounts/token ns other-sa', unrelated],
  ['get serviceaccounts ns sa', true],
  ['get serviceaccounts ns other-sa', unrelated],
  ['list serviceaccounts ns', 'can only create tokens for individual service accounts'],
  ['create serviceaccounts ns sa', 'can only create token subresource of serviceaccount'],
  ['get nodes - n1', true],
  ['get nodes - n2', "node 'n1' cannot read 'n2', only its own Node object"],
  ['list nodes -', "node 'n1' cannot read all nodes, only its own Node object"],
  ['list nodes - n1', true],
  ['create nodes -', true],
  ['update nodes/status - n1', true],
  ['delete nodes - n1', ''],
  ['get nodes/proxy - n1', ''],
  ['get pods ns web', true],
  ['get pods ns other', unrelated],
  ['list pods -', 'can only list/watch pods with spec.nodeName field selector'],
  ['watch pods - - spec.nodeName=n1', true],
  ['watch pods - - spec.nodeName=n2', 'can only list/watch pods with spec.nodeName field selector'],
  ['watch pods ns web', true],
  ['create pods ns', true],
  ['update pods ns web', ''],
  ['patch pods/status ns web', true],
  ['create pods/eviction ns web', true],
  ['create pods/exec ns web', ''],
  ['get pods/log ns web', ''],
  ['update leases.coordination.k8s.io kube-node-lease n1', true],
  ['update leases.coordination.k8s.io kube-node-lease n2', 'can only access node lease with the same name as the requesting node'],
  ['update leases.coordination.k8s.io kube-system n1', 'can only access leases in the "kube-node-lease" system namespace'],
  ['list leases.coordination.k8s.io kube-node-lease', 'can only get, create, update, patch, or delete a node lease'],
  ['create leases.coordination.k8s.io kube-node-lease', true],
  ['get csinodes.storage.k8s.io - n1', true],
  ['update csinodes.storage.k8s.io - n2', 'can only access CSINode with the same name as the requesting node'],
  ['list csinodes.storage.k8s.io -', 'can only get, create, update, patch, or delete a CSINode'],
  ['get resourceslices.resource.k8s.io - slice', true],
  ['delete resourceslices.resource.k8s.io - other', unrelated],
  ['list resourceslices.resource.k8s.io -', 'can only list/watch/deletecollection resourceslices with nodeName field selector'],
  ['list resourceslices.resource.k8s.io - - spec.nodeName=n1', true],
  ['list podcertificaterequests.certificates.k8s.io - - spec.nodeName=n1', ''],
  ['list services -', true],
  ['create events ns', true],
  ['create tokenreviews.authentication.k8s.io -', true],
  ['create certificatesigningrequests.certificates.k8s.io -', true],
  ['list deployments.apps ns', ''],
  ['create clusterroles.rbac.authorization.k8s.io -', ''],
]
for (const [text, expected] of table) {
  test(`n1 may${expected === true ? '' : ' not'} ${text}`, () => {
    const result = authorizer.authorize(asks(text))
    assert.ok(!(result instanceof Promise))
    assert.deepEqual([result.decision, result.reason], expected === true ? ['allow', ''] : ['noOpinion', expected])
  })
}

test('only a name together with the group makes a node', () => {
  const decide = (attributes: Attributes) => authorizer.authorize(attributes)
  assert.deepEqual(decide(asks('get nodes - n1', 'n1', [])), { decision: 'noOpinion', reason: '' })
  assert.deepEqual(decide({ ...asks('get nodes - n1'), user: { name: 'n1', groups: ['system:nodes'], extra: {} } }), {
    decision: 'noOpinion',
    reason: '',
  })
  assert.deepEqual(decide(asks('get nodes - n1', '')), { decision: 'noOpinion', reason: 'unknown node for user "system:node:"' })
})

test('rules of a node cannot be listed, of others there are none', () => {
  const { user } = asks('get nodes - n1')
  assert.equal(authorizer.rulesFor?.(user, 'ns').incomplete, true)
  assert.deepEqual(authorizer.rulesFor?.({ name: 'jane', groups: [], extra: {} }, 'ns'), {
    resourceRules: [],
    nonResourceRules: [],
    incomplete: false,
  })
})

test('certificate requests of pods, where they are served', () => {
  const graph = cluster()
  graph.upsertOfNode('podCertificateRequest', 'ns', 'mine', 'n1')
  const serving = nodeAuthorizer({ graph, rules, hasPodCertificateRequests: true })
  const kind = 'podcertificaterequests.certificates.k8s.io'
  const decide = (text: string) => (serving.authorize(asks(text)) as { decision: string }).decision
  for (const text of [`create ${kind} ns`, `get ${kind} ns mine`, `watch ${kind} - - spec.nodeName=n1`])
    assert.equal(decide(text), 'allow', text)
  for (const text of [`get ${kind} ns other`, `list ${kind} -`, `delete ${kind} ns mine`, `get ${kind}/status ns mine`])
    assert.equal(decide(text), 'noOpinion', text)
})

test('relations go with the pod that made them, and not before', () => {
  const graph = new NodeGraph()
  const using = (name: string, node: string) => pod(name, node, { volumes: [{ name: 's', secret: { secretName: 'shared' } }] })
  const sees = (node: string) => graph.isRelated(node, 'secret', 'ns', 'shared')
  graph.upsertPod(using('a', 'n1'))
  graph.upsertPod(using('b', 'n1'))
  graph.upsertPod(using('c', 'n2'))
  graph.removePod('ns', 'a')
  assert.deepEqual([sees('n1'), sees('n2')], [true, true])
  graph.removePod('ns', 'b')
  assert.deepEqual([sees('n1'), sees('n2')], [false, true])
  graph.upsertPod({ ...using('c', 'n3'), metadata: { namespace: 'ns', name: 'c', uid: 'another' } })
  assert.deepEqual([sees('n2'), sees('n3')], [false, true])
})

test('what a bound pod can still come to refer to is noticed: debugging containers and made claims', () => {
  const graph = new NodeGraph()
  graph.upsertPod(pod('p', 'n1', { resourceClaims: [{ name: 'r', resourceClaimTemplateName: 't' }] }))
  assert.equal(graph.isRelated('n1', 'resourceClaim', 'ns', 'made'), false)
  graph.upsertPod(
    pod(
      'p',
      'n1',
      {
        resourceClaims: [{ name: 'r', resourceClaimTemplateName: 't' }],
        ephemeralContainers: [{ name: 'e', envFrom: [{ secretRef: { name: 's' } }] }],
      },
      {
        status: {
          resourceClaimStatuses: [{ name: 'r', resourceClaimName: 'made' }],
          extendedResourceClaimStatus: { resourceClaimName: 'extended', requestMappings: [] },
        },
      },
    ),
  )
  assert.deepEqual(
    [
      graph.isRelated('n1', 'resourceClaim', 'ns', 'made'),
      graph.isRelated('n1', 'resourceClaim', 'ns', 'extended'),
      graph.isRelated('n1', 'secret', 'ns', 's'),
    ],
    [true, true, true],
  )
})

test('a volume that changes its claim, and an attachment that changes its node, take their relations along', () => {
  const graph = new NodeGraph()
  graph.upsertPod(pod('p', 'n1', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'a' } }] }))
  graph.upsertPersistentVolume(volume('pv', 'a'))
  assert.equal(graph.isRelated('n1', 'secret', 'storage', 'pv-stage'), true)
  graph.upsertPersistentVolume(volume('pv', 'b'))
  assert.equal(graph.isRelated('n1', 'secret', 'storage', 'pv-stage'), false)
  graph.upsertOfNode('volumeAttachment', '', 'att', 'n1')
  graph.upsertOfNode('volumeAttachment', '', 'att', 'n2')
  assert.deepEqual(
    [graph.isRelated('n1', 'volumeAttachment', '', 'att'), graph.isRelated('n2', 'volumeAttachment', '', 'att')],
    [false, true],
  )
  graph.removeOfNode('volumeAttachment', '', 'att')
  assert.equal(graph.isRelated('n2', 'volumeAttachment', '', 'att'), false)
})

test('the folded graph agrees with a walk through all pods, whatever changes', () => {
  const seed = 9
  const random = seededRandom(seed)
  const graph = new NodeGraph()
  const pods = new Map<string, { node: string; secret: string; claim: string }>()
  const volumes = new Map<string, { claim: string }>()
  for (let step = 0; step < 2000; step++) {
    const name = `p${random.int(5)}`
    const [node, secret, claim] = [`n${random.int(3)}`, `s${random.int(4)}`, `c${random.int(3)}`]
    switch (random.int(4)) {
      case 0:
        graph.upsertPod(
          pod(
            name,
            node,
            {
              volumes: [
                { name: 's', secret: { secretName: secret } },
                { name: 'v', persistentVolumeClaim: { claimName: claim } },
              ],
            },
            { metadata: { namespace: 'ns', name, uid: String(step) } },
          ),
        )
        pods.set(name, { node, secret, claim })
        break
      case 1:
        graph.removePod('ns', name)
        pods.delete(name)
        break
      case 2:
        graph.upsertPersistentVolume(volume(name, claim))
        volumes.set(name, { claim })
        break
      default:
        graph.removePersistentVolume(name)
        volumes.delete(name)
    }
    const all = [...pods.values()]
    const why = `seed ${seed}, step ${step}`
    assert.equal(
      graph.isRelated(node, 'secret', 'ns', secret),
      all.some((one) => one.node === node && one.secret === secret),
      why,
    )
    const bound = volumes.get(name)?.claim
    assert.equal(
      graph.isRelated(node, 'secret', 'storage', `${name}-stage`),
      all.some((one) => one.node === node && one.claim === bound),
      why,
    )
  }
})

test('a node may read the config map of its own configuration, as long as it names it', () => {
  const graph = new NodeGraph()
  graph.setConfigMapOfNode('n1', { namespace: 'kube-system', name: 'config' })
  graph.setConfigMapOfNode('n2', { namespace: 'kube-system', name: 'config' })
  const may = (node: string) => graph.isRelated(node, 'configMap', 'kube-system', 'config')
  assert.deepEqual([may('n1'), may('n2'), may('n3')], [true, true, false])
  graph.setConfigMapOfNode('n1', { namespace: 'kube-system', name: 'other' })
  graph.setConfigMapOfNode('n2', undefined)
  assert.deepEqual([may('n1'), may('n2')], [false, false])
  assert.ok(graph.isRelated('n1', 'configMap', 'kube-system', 'other'))
})
