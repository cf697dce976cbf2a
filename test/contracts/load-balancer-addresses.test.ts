/** Who answers for the addresses of load balancers, in a real kernel: nodes are network namespaces, their neighbour is another one. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import type { Sockets } from '#base/sockets.ts'
import { removeHeldAddresses, runAddressAgent } from '#network/load-balancer/address-agent.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { openNetworkLab, whyNoLab } from '../support/network-lab.ts'

const log: LogRecord[] = []
const annotation = 'loadbalancer.typernetes.io/node'

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const begin = Date.now(); !(await holds()); await systemClock.sleep(50))
    assert.ok(Date.now() - begin < 60_000, `waited in vain for ${what}: ${JSON.stringify(log.slice(-5))}`)
}

test('the node that is named has the addresses, its neighbours learn of it, and nothing is left when it is another one', {
  skip: whyNoLab(),
  timeout: 200_000,
}, async () => {
  using lab = openNetworkLab({ nodes: 3 })
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { client } = cluster
  // The API server lives in virtual time: its watches move on with it.
  using _passing = systemClock.every(100, () => void cluster.clock.advance({ seconds: 0.1 }))
  const [neighbour, ...nodes] = lab.nodes
  assert.ok(neighbour !== undefined)
  const within = (namespace: string): Processes => ({
    ...nodeProcesses,
    run: (program, args, options) => nodeProcesses.run('nsenter', [`--net=/run/netns/${namespace}`, program, ...args], options),
  })
  /** A socket of another process, since this one is in no namespace of the lab. */
  const socketsWithin = (namespace: string) =>
    ({
      async bindUdp({ host }) {
        return {
          port: 0,
          send(_message, to) {
            const script = `require('dgram').createSocket('udp4').bind(0,'${host}',function(){this.send('x',${to?.port},'${to?.host}',()=>this.close())})`
            void nodeProcesses.run('nsenter', [`--net=/run/netns/${namespace}`, process.execPath, '-e', script])
          },
          close() {},
        }
      },
    }) as Pick<Sockets, 'bindUdp'> as Sockets
  const start = ({ name, namespace }: (typeof nodes)[number]) =>
    runAddressAgent({
      ...{ client, clock: systemClock, random: systemRandom, logger: recordingLogger(log), files: nodeFiles, nodeName: name },
      ...{ processes: within(namespace), sockets: socketsWithin(namespace), statePath: join(lab.directory, `${name}.json`) },
    })
  const agents = new Map(nodes.map((node) => [node.name, start(node)]))
  try {
    for (const { name } of nodes) await client.create(Node, { metadata: { name }, spec: {} })
    const addresses = [neighbour.address.replace(/\d+$/, '240'), neighbour.addressV6.replace(/[0-9a-f]*$/, 'f00')]
    await client.create(Service, { metadata: { name: 'web', namespace: 'default' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } })
    const ingress = addresses.map((ip) => ({ ip, ipMode: 'VIP' }))
    await client.patch(
      Service,
      { namespace: 'default', name: 'web' },
      { status: { loadBalancer: { ingress } } },
      { type: 'merge', subresource: 'status' },
    )
    const give = (name: string | null) =>
      client.patch(Service, { namespace: 'default', name: 'web' }, { metadata: { annotations: { [annotation]: name } } }, { type: 'merge' })
    const held = ({ run }: (typeof nodes)[number]) => addresses.filter((address) => run('ip', '-o', 'address').includes(` ${address}/`))
    /** The link that the neighbour takes for theirs. Asking makes it find out where it knows none. */
    const seen = (address: string) => {
      const known = () => /lladdr (\S+)/.exec(neighbour.run('ip', 'neighbour', 'show', address))?.[1]
      const asks = `require('net').connect(81,'${address}').on('error',()=>{})`
      if (known() === undefined) neighbour.run(process.execPath, '-e', asks)
      return known()
    }
    /** None for the moment in which an address of IPv6 is told of again: it is removed and added for that. */
    const linkOf = ({ run }: (typeof nodes)[number], address: string) => {
      const link = / (\S+) +inet6? /.exec(run('ip', '-o', 'address', 'show', 'to', address))?.[1]
      return link === undefined ? undefined : /link\/ether (\S+)/.exec(run('ip', '-o', 'link', 'show', 'dev', link))?.[1]
    }
    const knows = (node: (typeof nodes)[number], address: string) => {
      const link = linkOf(node, address)
      return link !== undefined && seen(address) === link
    }

    for (const node of [...nodes, ...nodes]) {
      await give(node.name)
      await until(`${node.name} to have the addresses`, () => held(node).length === 2)
      await until('others to have none', () => nodes.every((other) => other === node || held(other).length === 0))
      for (const address of addresses) await until(`the neighbour to learn of ${address}`, () => knows(node, address))
      assert.match(
        node.run('ip', '-o', 'address', 'show', 'to', addresses[0] ?? ''),
        /valid_lft [1-4]?\dsec/,
        'given up where nobody confirms it',
      )
    }

    const [last] = nodes.slice(-1)
    assert.ok(last !== undefined)
    await agents.get(last.name)?.stop()
    assert.equal(held(last).length, 2, 'a stop drops nothing')
    await give(null)
    agents.set(last.name, start(last))
    await until('the next run to drop what is not its own any more', () => held(last).length === 0)
    await give(last.name)
    await until('it to have them again', () => held(last).length === 2)
    await agents.get(last.name)?.stop()
    await removeHeldAddresses(join(lab.directory, `${last.name}.json`), { files: nodeFiles, processes: within(last.namespace) })
    assert.equal(held(last).length, 0)
  } finally {
    for (const agent of agents.values()) await agent.stop()
  }
})
