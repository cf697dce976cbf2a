import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { NetworkPolicy } from '#api/networking/v1/kinds.gen.ts'
import { silentLogger } from '#base/log.ts'
import { runPolicyAgent } from '#network/policy/policy-agent.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

/** Keeps the texts in place of applying them. */
class RecordingNft {
  readonly texts: string[] = []
  isThere = true
  /** Every call takes until then. */
  isFree: Promise<void> = Promise.resolve()
  readonly hasChain = async () => this.isThere
  readonly present = async () => {
    await this.isFree
    return undefined
  }
  failures = 0
  readonly apply = async (text: string) => {
    await this.isFree
    if (this.failures-- > 0) throw new Error('no')
    this.texts.push(text)
  }
  readonly check = async (): Promise<string | undefined> => undefined
  readonly deleteTable = async () => {}
  readonly close = () => {}
}

async function started() {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  const { clock, client, random } = cluster
  await client.create(Node, { metadata: { name: 'n1' }, spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] } })
  const nft = new RecordingNft()
  const agent = runPolicyAgent({ client, clock, random, logger: silentLogger, nft, nodeName: 'n1' })
  await clock.advance(100)
  await agent.synced
  return {
    ...{ cluster, clock, client, nft },
    async [Symbol.asyncDispose]() {
      await agent.stop()
      await cluster[Symbol.asyncDispose]()
    },
  }
}

const policy = { metadata: { namespace: 'default', name: 'closed' }, spec: { podSelector: {}, policyTypes: ['Ingress' as const] } }

test('a pod is known, and closed, as soon as it has an address', async () => {
  await using world = await started()
  const { clock, client, nft } = world
  await client.create(NetworkPolicy, policy)
  await clock.advance(100)
  assert.match(nft.texts.at(-1) ?? '', /guard ip daddr 10.1.0.0\/24 ip daddr != @pods4 drop/)
  const pod = await client.create(Pod, {
    metadata: { namespace: 'default', name: 'a' },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
  })
  await clock.advance(100)
  const count = nft.texts.length
  await client.updateStatus(Pod, { ...pod, status: { phase: 'Running', podIP: '10.1.0.7', podIPs: [{ ip: '10.1.0.7' }] } })
  await clock.advance(100)
  assert.equal(nft.texts.length, count + 1)
  assert.match(nft.texts.at(-1) ?? '', /pods4 { 10.1.0.7 }/)
  assert.match(nft.texts.at(-1) ?? '', /ingress4 { 10.1.0.7 : goto group-ingress-/)
  await client.delete(Pod, { namespace: 'default', name: 'a' }, { gracePeriodSeconds: 0 })
  await clock.advance(100)
  assert.match(nft.texts.at(-1) ?? '', /delete element inet kube-network-policy pods4 { 10.1.0.7 }/)
})

test('what failed is written anew, and so is what somebody removed', async () => {
  await using world = await started()
  const { clock, client, nft } = world
  nft.failures = 1
  await client.create(NetworkPolicy, policy)
  await clock.advance(2000)
  assert.match(nft.texts.at(-1) ?? '', /^add table inet kube-network-policy\n/, 'all of it')
  const count = nft.texts.length
  await clock.advance(60_000)
  assert.equal(nft.texts.length, count, 'nothing to do')
  nft.isThere = false
  await clock.advance(31_000)
  assert.match(nft.texts.at(-1) ?? '', /^add table inet kube-network-policy\n/)
})

const running = (name: string, podIP: string) => ({
  metadata: { namespace: 'default', name },
  spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
  status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }] },
})

test('what changes while nft is at work is in the next text', async () => {
  await using world = await started()
  const { clock, client, nft } = world
  const put = async (name: string, ip: string) => {
    const pod = running(name, ip)
    await client.updateStatus(Pod, { ...(await client.create(Pod, pod)), status: pod.status })
    await clock.advance(100)
  }
  const friends = { ...policy.spec, ingress: [{ from: [{ podSelector: {} }] }] }
  const open = await client.create(NetworkPolicy, { ...policy, spec: friends })
  await clock.advance(100)
  for (const fails of [false, true]) {
    const free = Promise.withResolvers<void>()
    nft.isFree = free.promise
    nft.failures = fails ? 1 : 0
    await put(`before-${fails}`, fails ? '10.1.0.3' : '10.1.0.1')
    await put(`meanwhile-${fails}`, fails ? '10.1.0.4' : '10.1.0.2')
    nft.isFree = Promise.resolve()
    free.resolve()
    await clock.advance(2000)
    assert.match(nft.texts.at(-1) ?? '', fails ? /peers4-\S+ { .*10\.1\.0\.4.* }/ : /^add element .* peers4-\S+ { 10\.1\.0\.2 }$/m)
  }
  const free = Promise.withResolvers<void>()
  nft.isFree = free.promise
  await put('last', '10.1.0.5')
  await client.update(NetworkPolicy, { ...open, spec: policy.spec })
  await clock.advance(100)
  free.resolve()
  await clock.advance(2000)
  assert.match(nft.texts.at(-1) ?? '', /^flush chain .* ingress-\S+default\/closed$/m, 'a policy that lets nobody in any more')
})

test('a policy that goes while a full sync asks what is there leaves no rule that leads to it', async () => {
  await using world = await started()
  const { clock, client, nft } = world
  const pod = running('a', '10.1.0.1')
  await client.updateStatus(Pod, { ...(await client.create(Pod, pod)), status: pod.status })
  await client.create(NetworkPolicy, policy)
  await clock.advance(100)
  const free = Promise.withResolvers<void>()
  nft.isThere = false
  nft.isFree = free.promise
  await clock.advance(31_000)
  await client.delete(NetworkPolicy, policy.metadata)
  await clock.advance(100)
  free.resolve()
  await clock.advance(100)
  const full = nft.texts.findLast((text) => text.startsWith('add table')) ?? ''
  assert.doesNotMatch(full, /jump ingress-/)
})

test('a name server that is no pod is a peer by the labels that name servers have', async () => {
  await using world = await started()
  const { clock, client, nft } = world
  await client.create(EndpointSlice, {
    metadata: { namespace: 'kube-system', name: 'kube-dns', labels: { 'kubernetes.io/service-name': 'kube-dns' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['172.30.0.1'] }],
    ports: [{ name: 'dns', protocol: 'UDP', port: 53 }],
  })
  const to = [{ namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }]
  await client.create(NetworkPolicy, {
    metadata: { namespace: 'default', name: 'names' },
    spec: { podSelector: {}, policyTypes: ['Egress'], egress: [{ to, ports: [{ port: 'dns', protocol: 'UDP' }] }] },
  })
  await clock.advance(100)
  const text = nft.texts.join('\n')
  assert.match(text, /peers4-\S+ { 172\.30\.0\.1 }/)
  assert.match(text, /ports4-\S+ { 172\.30\.0\.1 \. udp \. 53 }/)
  await client.delete(EndpointSlice, { namespace: 'kube-system', name: 'kube-dns' })
  await clock.advance(100)
  assert.match(nft.texts.at(-1) ?? '', /delete element \S+ \S+ peers4-\S+ { 172\.30\.0\.1 }/)
})
