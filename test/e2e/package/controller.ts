/** A controller as a user writes one, on a cluster that the test starts: every namespace with a team gets a config map that greets it. */
import { ConfigMap, controllerReference, defineController, Namespace, runControllers, startCluster, systemClock, waitFor } from 'typernetes'

const welcome = defineController({
  name: 'welcome',
  for: Namespace,
  owns: [ConfigMap],
  async reconcile(namespace, { cache, client, events }) {
    const { name = '', labels } = namespace.metadata
    const team = labels?.['team']
    if (team === undefined || cache.get(ConfigMap, name, 'welcome') !== undefined) return
    await client.create(ConfigMap, {
      metadata: { namespace: name, name: 'welcome', ownerReferences: [controllerReference(namespace, Namespace)] },
      data: { text: `Hello, ${team}` },
    })
    events.normal(Namespace, namespace, 'Welcomed', `Greeted ${team}`)
  },
})

const cluster = await startCluster({ simNodes: 0 })
const stop = new AbortController()
const running = runControllers({
  client: cluster.client,
  controllers: [welcome],
  leaderElection: { namespace: 'default', name: 'welcome' },
  signal: stop.signal,
})
const place = { namespace: 'blue', name: 'welcome' }
const exists = (uid?: string) =>
  waitFor(cluster.client, ConfigMap, place, (map) => map !== undefined && map.metadata.uid !== uid, { clock: systemClock })
await cluster.client.create(Namespace, { metadata: { name: 'blue', labels: { team: 'blue' } }, spec: {} })
const made = await exists()
// What it owns comes back when somebody takes it away.
await cluster.client.delete(ConfigMap, place)
const again = await exists(made?.metadata.uid)
console.log(again?.data?.['text'])
stop.abort()
await running
await cluster.stop()
