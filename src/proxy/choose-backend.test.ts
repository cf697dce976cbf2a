import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import { nodeSockets } from '#base/sockets.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { ProxyMode } from '#proxy/backend.ts'
import { chooseBackend } from '#proxy/choose-backend.ts'
import { proxyNames } from '#proxy/proxy-names.ts'

/** A machine with these programs, and with ipvs in its kernel or not. */
async function chosen(mode: ProxyMode | '', programs: string[], hasIpvs = false) {
  const records: LogRecord[] = []
  const { backend } = await chooseBackend(
    mode,
    proxyNames(''),
    { scheduler: '', excludeCidrs: [], strictArp: false, timeoutsSeconds: { tcp: 0, tcpFin: 0, udp: 0 } },
    {
      processes: {
        ...nodeProcesses,
        async run(program) {
          if (!programs.includes(program)) throw new Error('ENOENT')
          return { exitCode: 0, signal: null, stdout: '', stderr: '' }
        },
      },
      files: { ...nodeFiles, stat: async () => (hasIpvs ? ({} as never) : undefined) },
      ...{ sockets: nodeSockets, clock: new VirtualClock(), logger: recordingLogger(records), ownAddresses: () => [] },
    },
  )
  return { mode: backend.mode, said: records.map(({ message }) => message) }
}

test('nftables unless something else is wanted', async () => {
  assert.deepEqual(await chosen('', ['nft', 'iptables']), { mode: 'nftables', said: [] })
  assert.deepEqual(await chosen('iptables', ['nft', 'iptables']), { mode: 'iptables', said: [] })
  assert.deepEqual(await chosen('ipvs', ['nft', 'ipvsadm', 'ipset'], true), { mode: 'ipvs', said: [] })
})

test('what the machine cannot do is said, with what is done instead', async () => {
  assert.deepEqual(await chosen('ipvs', ['nft', 'ipvsadm', 'ipset']), {
    mode: 'nftables',
    said: ['proxy mode ipvs is not available: this kernel has no ip_vs (is the module loaded?); trying nftables'],
  })
  assert.deepEqual(await chosen('ipvs', ['nft'], true), {
    mode: 'nftables',
    said: ['proxy mode ipvs is not available: the program ipvsadm is not installed; trying nftables'],
  })
  const { mode, said } = await chosen('', [])
  assert.equal(mode, 'userspace')
  assert.equal(said.length, 2)
})

test('clusters that share a machine have names of their own', () => {
  const [one, other] = [proxyNames('00aabbcc'), proxyNames('11aabbcc')]
  assert.equal(proxyNames('').nftTable, 'kube-proxy')
  assert.notEqual(one.nftTable, other.nftTable)
  assert.notEqual(one.prefix, other.prefix)
  assert.ok(one.ipvsInterface.length <= 15, 'names of interfaces are short')
  assert.ok((one.masqueradeBit ?? 0) >= 16 && (one.masqueradeBit ?? 0) < 32)
})
