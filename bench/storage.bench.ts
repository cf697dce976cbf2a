/** 1,000 claims at once, until each has a simulated volume; then what 10,000 volumes cost while nothing happens. */
import { PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { systemClock as clock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import { Informer } from '#client/informer/informer.ts'
import { controllers } from '#controllers/controllers.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { SimulatedVolumes, simulatedDriver } from '#controllers/simulated-volumes/simulated-volumes.ts'
import { volumeDriverControllers } from '#controllers/volume-driver/volume-driver-controllers.ts'
import { fakeApiServer } from '#testing/fake-cluster.ts'
import type { Bench } from '../scripts/bench.ts'

const claims = 1000
const many = 10_000
const idleMs = 20_000

export default async function (bench: Bench): Promise<void> {
  const random = seededRandom(1)
  const server = await fakeApiServer(clock, random)
  const connection = new TrustedConnection({ name: 'admin', groups: ['system:masters'], extra: {} })
  const client = new Client({ transport: inProcessTransport(inProcess(server.server.handler.handle, connection)), userAgent: 'bench' })
  const manager = new ControllerManager({
    controllers: [...selectControllers(controllers, ['*', '-nodelifecycle']), volumeDriverControllers(new SimulatedVolumes({ clock }))],
    ...{ client, clock, random, logger: silentLogger },
    settings: { ...defaultSettings, isEnabled: (gate) => gate !== 'PersistentVolumeClaimUnusedSinceTime' },
  })
  await manager.start()
  await client.create(StorageClass, { metadata: { name: 'sim' }, provisioner: simulatedDriver })
  const watched = new Informer({ client, clock, random, kind: PersistentVolumeClaim, logger: silentLogger })
  const bound = new Set<string>()
  watched.addHandler({
    onUpdate: ({ metadata, status }) => {
      if (status?.phase === 'Bound') bound.add(metadata.name ?? '')
    },
  })
  watched.start()
  await watched.synced
  const bind = async (from: number, to: number): Promise<number> => {
    const startedMs = performance.now()
    const names = Array.from({ length: to - from }, (_, index) => `c${from + index}`)
    await Promise.all(names.map((name) => client.create(PersistentVolumeClaim, aClaim(name))))
    while (bound.size < to) await clock.sleep(20)
    return (performance.now() - startedMs) / 1000
  }
  bench.report({
    case: `${claims} claims bound to volumes made for them`,
    figure: await bind(0, claims),
    unit: 's',
    comparedWith: 'limit 5 s',
  })
  for (let from = claims; from < many; from += claims) await bind(from, from + claims)
  await clock.sleep(3000)
  const before = process.cpuUsage()
  await clock.sleep(idleMs)
  const { user, system } = process.cpuUsage(before)
  bench.report({
    case: `idle with ${many} bound claims`,
    figure: (user + system) / idleMs / 10,
    unit: '% of a core',
    comparedWith: 'limit 0.5 %',
  })
  watched.stop()
  await manager.stop()
  await server.stop()
}

const aClaim = (name: string) => ({
  metadata: { namespace: 'default', name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'sim' },
})
