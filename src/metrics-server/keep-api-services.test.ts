import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import { ClusterRole } from '#api/rbac/v1/kinds.gen.ts'
import { silentLogger } from '#base/log.ts'
import { Client } from '#client/client.ts'
import { keepApiServices } from '#metrics-server/keep-api-services.ts'
import { failingWrite } from '#testing/failing-write.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const apis = [
  { group: 'custom.metrics.k8s.io', version: 'v1beta1', priority: 100, serviceName: 'adapter' },
  { group: 'external.metrics.k8s.io', version: 'v1beta1', priority: 100, serviceName: 'adapter' },
]
const readers = { name: 'readers', rules: [{ apiGroups: ['custom.metrics.k8s.io'], resources: ['*'], verbs: ['get'] }] }
const names = apis.map(({ group, version }) => `${version}.${group}`)

for (const how of ['refused', 'lost'] as const) {
  test(`APIs of this process are in the cluster and come back, whichever write is ${how}`, async () => {
    for (let at = 0, most = 1; at < most; at++) {
      await using cluster = await FakeCluster.start({ withoutNodes: true })
      const count = { writes: 0 }
      const transport = failingWrite(cluster.transportAs('admin', ['system:masters']), { at, how }, count)
      const client = new Client({ transport, userAgent: 'test' })
      const { clock, random } = cluster
      const keeping = keepApiServices({ apis, readers, client, clock, random, logger: silentLogger })
      await cluster.advance({ seconds: 5 })
      using _ = await keeping
      const present = async () =>
        (await Promise.all(names.map((name) => cluster.find(APIService, '', name)))).every((found) => found !== undefined)
      assert.ok(await present(), `write ${at}`)
      assert.ok(await cluster.find(ClusterRole, '', readers.name))
      await cluster.client.delete(APIService, { name: names[0] ?? '' })
      await cluster.advance({ seconds: 5 })
      assert.ok(await present(), `write ${at}, after it was taken out`)
      most = count.writes
      assert.ok(most >= 5)
    }
  })
}

test('whoever creates an APIService of their own has it, though the one of this process comes back when it is taken out', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { client, clock, random } = cluster
  const keeping = keepApiServices({ apis, readers, client, clock, random, logger: silentLogger })
  await cluster.advance({ seconds: 5 })
  using _ = await keeping
  const [{ group, version }] = apis as [(typeof apis)[0]]
  const name = `${version}.${group}`
  const service = { namespace: 'default', name: 'theirs', port: 443 }
  const spec = { group, version, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service }
  for (let round = 0; round < 3; round++) {
    const { spec: found } = await cluster.client.create(APIService, { metadata: { name }, spec })
    assert.equal(found?.service?.name, 'theirs')
    await cluster.advance({ seconds: 5 })
    assert.equal((await cluster.find(APIService, '', name))?.spec?.service?.name, 'theirs')
    await cluster.client.delete(APIService, { name })
    await cluster.advance({ seconds: 5 })
    assert.equal((await cluster.find(APIService, '', name))?.spec?.service?.name, 'adapter')
  }
})
