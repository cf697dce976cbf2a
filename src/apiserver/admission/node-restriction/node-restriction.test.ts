import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeRestriction } from '#apiserver/admission/node-restriction/node-restriction.ts'
import { admissionResultOf, aPod, authorizerOf, type RequestOptions, testContext } from '#apiserver/admission/testing/admission.ts'
import { nodeRequest, userRequest } from '#apiserver/admission/testing/certificate-requests.ts'
import type { Attributes } from '#apiserver/authz/authorizer.ts'
import { omitEmpty } from '#base/omit-empty.ts'

const projected = (audience?: string) => ({
  name: 't',
  projected: { sources: [{ serviceAccountToken: { path: 't', ...omitEmpty({ audience }) } }] },
})

const cluster = {
  nodes: [{ metadata: { name: 'n1', uid: 'node-uid' } }],
  pods: [
    aPod(
      { nodeName: 'n1', serviceAccountName: 'sa', volumes: [projected(), { ...projected('vault'), name: 'v' }] },
      { name: 'mine', uid: 'mine-uid' },
    ),
    aPod({ nodeName: 'n1', volumes: [{ name: 'd', csi: { driver: 'csi.example.com' } }] }, { name: 'with-driver', uid: 'd-uid' }),
    aPod({ nodeName: 'n2' }, { name: 'theirs', uid: 'theirs-uid' }),
  ],
  'csidrivers.storage.k8s.io': [{ metadata: { name: 'csi.example.com' }, spec: { tokenRequests: [{ audience: 'storage' }] } }],
}

const asked: Attributes[] = []
const authorizer = authorizerOf((attributes) => {
  asked.push(attributes)
  return attributes.resource === 'granted'
})

const validated = (resource: string, options: RequestOptions, user = 'system:node:n1', groups = ['system:nodes']) =>
  admissionResultOf(nodeRestriction, testContext(cluster, { authorizer }), resource, { user, groups, ...options })

type Row = [sentence: string, resource: string, options: RequestOptions, expected: string]

const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true }
const mirror = (spec: object = {}, more: object = {}) =>
  aPod({ nodeName: 'n1', ...spec }, { annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: [owner], ...more })
const node = (metadata: object, spec: object = {}) => ({ metadata: { name: 'n1', ...metadata }, spec })
const forbidden = (what: string, why: string) => `403 ${what} is forbidden: ${why}`

const pods: Row[] = [
  ['shows its static pods', 'pods', { object: mirror() }, 'allowed'],
  [
    'makes no other pods',
    'pods',
    { object: aPod({ nodeName: 'n1' }) },
    forbidden('pods "p"', 'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods'),
  ],
  [
    'shows none of another node',
    'pods',
    { object: mirror({ nodeName: 'n2' }) },
    forbidden('pods "p"', 'node "n1" can only create pods with spec.nodeName set to itself'),
  ],
  [
    'is the owner of its pods',
    'pods',
    { object: mirror({}, { ownerReferences: [] }) },
    forbidden('pods "p"', 'node "n1" can only create pods with an owner reference set to itself'),
  ],
  [
    'is the only owner',
    'pods',
    { object: mirror({}, { ownerReferences: [owner, owner] }) },
    forbidden('pods "p"', 'node "n1" can only create pods with a single owner reference set to itself'),
  ],
  [
    'controls its pods',
    'pods',
    { object: mirror({}, { ownerReferences: [{ ...owner, controller: false }] }) },
    forbidden('pods "p"', 'node "n1" can only create pods with a controller owner reference set to itself'),
  ],
  [
    'does not hold itself up',
    'pods',
    { object: mirror({}, { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }) },
    forbidden('pods "p"', 'node "n1" must not set blockOwnerDeletion on an owner reference'),
  ],
  [
    'is the node it was',
    'pods',
    { object: mirror({}, { ownerReferences: [{ ...owner, uid: 'old' }] }) },
    forbidden('pods "p"', 'node n1 UID mismatch: expected old got node-uid'),
  ],
  [
    'shows none that reach for secrets',
    'pods',
    { object: mirror({ volumes: [{ name: 's', secret: { secretName: 'x' } }] }) },
    forbidden('pods "p"', 'node "n1" can not create pods that reference secrets'),
  ],
  [
    'shows none that reach for claims',
    'pods',
    { object: mirror({ volumes: [{ name: 's', persistentVolumeClaim: {} }] }) },
    forbidden('pods "p"', 'node "n1" can not create pods that reference persistentvolumeclaims'),
  ],
  [
    'shows none that reach for tokens',
    'pods',
    { object: mirror({ volumes: [projected()] }) },
    forbidden('pods "p"', 'node "n1" can not create pods that reference serviceaccounts (via projected volumes)'),
  ],
  ['deletes its own pods', 'pods', { operation: 'DELETE', oldObject: {}, name: 'mine' }, 'allowed'],
  [
    'deletes no other pods',
    'pods',
    { operation: 'DELETE', oldObject: {}, name: 'theirs' },
    forbidden('pods "theirs"', 'node "n1" can only delete pods with spec.nodeName set to itself'),
  ],
  [
    'updates no pods',
    'pods',
    { object: mirror(), oldObject: mirror() },
    forbidden('pods "p"', 'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods'),
  ],
  ['reports on its pods', 'pods', { object: mirror(), oldObject: mirror(), subresource: 'status' }, 'allowed'],
  [
    'reports on no other pods',
    'pods',
    { object: mirror(), oldObject: aPod({ nodeName: 'n2' }), subresource: 'status' },
    forbidden('pods "p"', 'node "n1" can only update pod status for pods with spec.nodeName set to itself'),
  ],
  [
    'changes no labels that way',
    'pods',
    { object: mirror({}, { labels: { a: 'b' } }), oldObject: mirror(), subresource: 'status' },
    forbidden('pods "p"', 'node "n1" cannot update labels through pod status'),
  ],
  ['evicts its own pods', 'pods', { object: { metadata: { name: 'mine' } }, subresource: 'eviction' }, 'allowed'],
  [
    'evicts no other pods',
    'pods',
    { object: { metadata: { name: 'theirs' } }, subresource: 'eviction' },
    forbidden('pods "theirs"', 'node n1 can only evict pods with spec.nodeName set to itself'),
  ],
  [
    'uses no other subresources',
    'pods',
    { object: mirror(), subresource: 'binding' },
    forbidden('pods "p"', "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed"),
  ],
]

const nodes: Row[] = [
  [
    'registers itself',
    'nodes',
    { object: node({ labels: { 'kubernetes.io/hostname': 'n1', 'kubelet.kubernetes.io/x': 'y', mine: 'z' } }) },
    'allowed',
  ],
  ['takes itself away', 'nodes', { operation: 'DELETE', oldObject: node({}), name: 'n1' }, 'allowed'],
  [
    'registers no other',
    'nodes',
    { object: { metadata: { name: 'n2' } } },
    forbidden('nodes "n2"', 'node "n1" is not allowed to modify node "n2"'),
  ],
  [
    'sets no labels that lure pods',
    'nodes',
    { object: node({ labels: { 'node-restriction.kubernetes.io/x': 'y', 'node-role.kubernetes.io/master': '' } }) },
    forbidden(
      'nodes "n1"',
      'node "n1" is not allowed to set the following labels: node-restriction.kubernetes.io/x, node-role.kubernetes.io/master',
    ),
  ],
  [
    'takes none away',
    'nodes',
    { object: node({}), oldObject: node({ labels: { 'foo.k8s.io/x': 'y' } }) },
    forbidden('nodes "n1"', 'is not allowed to modify labels: foo.k8s.io/x'),
  ],
  [
    'changes no taints',
    'nodes',
    { object: node({}), oldObject: node({}, { taints: [{ key: 'a', effect: 'NoSchedule' }] }) },
    forbidden('nodes "n1"', 'node "n1" is not allowed to modify taints'),
  ],
  [
    'changes no owners',
    'nodes',
    { object: node({ ownerReferences: [owner] }), oldObject: node({}) },
    forbidden('nodes "n1"', 'node "n1" is not allowed to modify ownerReferences'),
  ],
  ['updates its status', 'nodes', { object: node({ annotations: { a: 'b' } }), oldObject: node({}), subresource: 'status' }, 'allowed'],
]

const slice = (nodeName: string) => ({ metadata: { name: 's' }, spec: { nodeName } })
const others: Row[] = [
  ['keeps its lease', 'leases.coordination.k8s.io', { object: { metadata: { name: 'n1' } }, namespace: 'kube-node-lease' }, 'allowed'],
  [
    'keeps no other lease',
    'leases.coordination.k8s.io',
    { object: { metadata: { name: 'n2' } }, namespace: 'kube-node-lease' },
    forbidden('leases.coordination.k8s.io "n2"', 'can only access node lease with the same name as the requesting node'),
  ],
  [
    'keeps none elsewhere',
    'leases.coordination.k8s.io',
    { object: { metadata: { name: 'n1' } }, namespace: 'default' },
    forbidden('leases.coordination.k8s.io "n1"', 'can only access leases in the "kube-node-lease" system namespace'),
  ],
  ['keeps its CSI node', 'csinodes.storage.k8s.io', { object: { metadata: { name: 'n1' } }, oldObject: {} }, 'allowed'],
  [
    'keeps no other CSI node',
    'csinodes.storage.k8s.io',
    { operation: 'DELETE', oldObject: {}, name: 'n2' },
    forbidden('csinodes.storage.k8s.io "n2"', 'can only access CSINode with the same name as the requesting node'),
  ],
  ['offers its devices', 'resourceslices.resource.k8s.io', { object: slice('n1') }, 'allowed'],
  [
    'offers no others',
    'resourceslices.resource.k8s.io',
    { object: slice('n2') },
    forbidden('resourceslices.resource.k8s.io "s"', 'can only create ResourceSlice with the same NodeName as the requesting node'),
  ],
  [
    'withdraws no others',
    'resourceslices.resource.k8s.io',
    { operation: 'DELETE', oldObject: slice('n2') },
    forbidden('resourceslices.resource.k8s.io "s"', 'can only delete ResourceSlice with the same NodeName as the requesting node'),
  ],
  [
    'changes no claims',
    'persistentvolumeclaims',
    { object: {}, oldObject: {}, name: 'c' },
    forbidden('persistentvolumeclaims "c"', 'may only update PVC status'),
  ],
  [
    'tells how large a claim is',
    'persistentvolumeclaims',
    {
      object: { metadata: { name: 'c' }, status: { capacity: { storage: '1Gi' } } },
      oldObject: { metadata: { name: 'c' } },
      subresource: 'status',
    },
    'allowed',
  ],
  [
    'asks for a certificate of its own',
    'certificatesigningrequests.certificates.k8s.io',
    { object: { spec: { signerName: 'kubernetes.io/kubelet-serving', request: nodeRequest } } },
    'allowed',
  ],
  [
    'asks for none of others',
    'certificatesigningrequests.certificates.k8s.io',
    { object: { metadata: { name: 'r' }, spec: { signerName: 'kubernetes.io/kubelet-serving', request: userRequest } } },
    forbidden('certificatesigningrequests.certificates.k8s.io "r"', 'can only create a node CSR with CN=system:node:n1'),
  ],
]

const tokenFor = (name: string, uid: string, audiences: string[] = []) => ({
  object: { spec: { audiences, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid } } },
  subresource: 'token',
  name: 'sa',
})
const tokens: Row[] = [
  ['gets tokens for its pods', 'serviceaccounts', tokenFor('mine', 'mine-uid'), 'allowed'],
  ['gets them for audiences the pod names', 'serviceaccounts', tokenFor('mine', 'mine-uid', ['vault']), 'allowed'],
  ['gets them for audiences a driver wants', 'serviceaccounts', tokenFor('with-driver', 'd-uid', ['storage']), 'allowed'],
  ['gets them for audiences it was granted', 'serviceaccounts', tokenFor('mine', 'mine-uid', ['granted']), 'allowed'],
  [
    'gets them for no others',
    'serviceaccounts',
    tokenFor('mine', 'mine-uid', ['bank']),
    forbidden(
      'serviceaccounts "sa"',
      'audience "bank" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
    ),
  ],
  [
    'gets one audience at a time',
    'serviceaccounts',
    tokenFor('mine', 'mine-uid', ['a', 'b']),
    forbidden('serviceaccounts "sa"', 'node may only request 0 or 1 audiences'),
  ],
  [
    'gets none for pods elsewhere',
    'serviceaccounts',
    tokenFor('theirs', 'theirs-uid'),
    forbidden('serviceaccounts "sa"', 'node requested token bound to a pod scheduled on a different node'),
  ],
  [
    'gets none for pods that were replaced',
    'serviceaccounts',
    tokenFor('mine', 'old'),
    forbidden(
      'serviceaccounts "sa"',
      'the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated',
    ),
  ],
  ['gets none for pods that are gone', 'serviceaccounts', tokenFor('gone', 'x'), '404 pods "gone" not found'],
  [
    'gets none without a pod',
    'serviceaccounts',
    { object: { spec: {} }, subresource: 'token', name: 'sa' },
    forbidden('serviceaccounts "sa"', 'node requested token not bound to a pod'),
  ],
]

test('what a kubelet writes', async (t) => {
  for (const [sentence, resource, options, expected] of [...pods, ...nodes, ...others, ...tokens]) {
    await t.test(`a kubelet ${sentence}`, async () => assert.equal(await validated(resource, options), expected))
  }
})

test('a claim is told what else was changed of it', async () => {
  const claim = (volumeName: string) => ({ metadata: { name: 'c' }, spec: { volumeName } })
  const options = { object: claim('other'), oldObject: claim('v'), subresource: 'status' }
  const text = await validated('persistentvolumeclaims', options)
  assert.match(text, /node "n1" is not allowed to update fields other than status.quantity and status.conditions: @@/)
  assert.match(text, /- +"VolumeName": "v"/)
})

test('others are not looked at, and nobody is a node without a name', async () => {
  assert.equal(await validated('nodes', { object: { metadata: { name: 'n2' } } }, 'jane', ['system:nodes']), 'allowed')
  assert.equal(await validated('nodes', { object: { metadata: { name: 'n2' } } }, 'system:node:n1', []), 'allowed')
  const nameless = await validated('nodes', { object: { metadata: { name: 'n2' } } }, 'system:node:')
  assert.equal(nameless, '403 nodes "n2" is forbidden: could not determine node from user "system:node:"')
})
