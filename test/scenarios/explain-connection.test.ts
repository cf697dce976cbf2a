/** "Would this connection work, and why not", asked of a cluster whose nodes only pretend. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { Namespace, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { NetworkPolicy } from '#api/networking/v1/kinds.gen.ts'
import { explainConnection } from '#cmd/explain/explain-connection.ts'
import { parseConnection } from '#cmd/explain/parse-connection.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

test('pods, services and policies of a simulated cluster answer as those of a real one would', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['deployment', 'replicaset', 'endpointslice'] })
  const { client, clock } = cluster
  const ask = async (words: string) => {
    const [services, slices, pods, namespaces, policies] = await Promise.all([
      client.list(Service),
      client.list(EndpointSlice),
      client.list(Pod),
      client.list(Namespace),
      client.list(NetworkPolicy),
    ])
    return explainConnection(parseConnection([words], 'default', 'TCP'), {
      ...{ services: services.items, slices: slices.items, pods: pods.items, namespaces: namespaces.items, policies: policies.items },
      nodeLabels: new Map(),
    })
  }
  const container = { name: 'c', image: 'i', ports: [{ name: 'http', containerPort: 8080 }] }
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } }
  await client.create(Service, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 'http' }] },
  })
  await client.create(Pod, { metadata: { namespace: 'default', name: 'client' }, spec: { containers: [{ name: 'c', image: 'i' }] } })
  await clock.advance(30_000)
  assert.match((await ask('client → web:80')).because, /has no endpoints: its selector app=web selects no pod/)
  await client.create(Deployment, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template },
  })
  await clock.advance(60_000)
  const works = await ask('client → web:80')
  assert.equal(works.because, 'it leads to one of 3 endpoints, and no policy stands in the way', JSON.stringify(works))
  await client.create(NetworkPolicy, {
    metadata: { namespace: 'default', name: 'closed' },
    spec: { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] },
  })
  const closed = await ask('client → web:80')
  assert.equal(closed.works, 'no')
  assert.match(closed.because, /isolated for ingress by NetworkPolicy default\/closed/)
})
