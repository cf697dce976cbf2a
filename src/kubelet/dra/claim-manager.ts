/** Dynamic resources on this node: claims of pods are prepared by their drivers before the pod starts, and unprepared when it has ended. */
import { join } from 'node:path'
import { claimNamesOf, claimOf, usesClaims } from '#api/core/v1/pod/pod-claims.ts'
import type { V1Container, V1Pod, V1ResourceStatus } from '#api/core/v1/types.gen.ts'
import { ResourceClaim } from '#api/resource/v1/kinds.gen.ts'
import type { V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { exponentialBuckets, type Histogram, type Metrics } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Client } from '#client/client.ts'
import { type ClaimRecord, ClaimRecords } from '#kubelet/dra/claim-records.ts'
import { DeviceHealths } from '#kubelet/dra/device-healths.ts'
import { DraDrivers } from '#kubelet/dra/dra-drivers.ts'
import type { DeviceHealth, DraDevice } from '#wire/kubelet/dra-messages.ts'

export type ClaimManagerOptions = {
  nodeName: string
  rootDirectory: string
  client: Client
  clock: Clock
  files: Files
  logger: Logger
  metrics: Metrics
  activePods(): readonly V1Pod[]
  /** A device of the pod is well or ill, and was not before. */
  onHealth(podUid: string): void
}

/** What pods that are gone without an end have left is looked for this often. */
const reconcileMs = 60_000

export class ClaimManager implements AsyncDisposable {
  readonly drivers: DraDrivers
  readonly #options: ClaimManagerOptions
  readonly #records: ClaimRecords
  readonly #healths: DeviceHealths
  readonly #duration: Histogram
  #timer: Timer | undefined

  private constructor(options: ClaimManagerOptions, records: ClaimRecords) {
    this.#options = options
    this.#records = records
    this.#healths = new DeviceHealths(options.clock)
    const { nodeName, client, clock, logger, metrics } = options
    this.#duration = metrics.histogram(
      'dra_operations_duration_seconds',
      'How long it took to prepare or release all claims of a pod.',
      exponentialBuckets(0.1, 2, 10),
    )
    const duration = metrics.histogram(
      'dra_grpc_operations_duration_seconds',
      'How long calls of DRA drivers took.',
      exponentialBuckets(0.1, 2, 10),
    )
    this.drivers = new DraDrivers({ nodeName, client, clock, logger, duration, onHealth: (...update) => this.#hearsHealth(...update) })
  }

  /** Rejects where the state that was left is damaged. */
  static async open(options: ClaimManagerOptions): Promise<ClaimManager> {
    const records = new ClaimRecords(options.files, join(options.rootDirectory, 'dra_manager_state'))
    await records.load()
    const manager = new ClaimManager(options, records)
    manager.#timer = options.clock.every(reconcileMs, () => void manager.#reconcile())
    return manager
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel()
    await this.drivers[Symbol.asyncDispose]()
    await this.#records.settled()
  }

  /** Rejects with why the pod cannot start. May be repeated. */
  async prepare(pod: V1Pod): Promise<void> {
    if (!usesClaims(pod)) return
    await this.#timed('PrepareResources', () => this.#prepare(pod)).catch((error: unknown): never => {
      throw new Error(`prepare dynamic resources: ${errorMessage(error)}`)
    })
  }

  /** Nothing of the pod runs any more. May be repeated. */
  async unprepare(pod: V1Pod): Promise<void> {
    const { uid = '', namespace = '' } = pod.metadata
    if (!this.#records.all.some(({ pods }) => pods.has(uid))) return
    await this.#timed('UnprepareResources', () => this.#unprepare(uid, namespace, claimNamesOf(pod))).catch((error: unknown): never => {
      throw new Error(`unprepare dynamic resources: ${errorMessage(error)}`)
    })
  }

  /** Names of the devices that a container's claims stand for. Throws where one was not prepared. */
  cdiDevicesOf(pod: V1Pod, container: V1Container): string[] {
    const ids = this.#requestsOf(pod, container).flatMap(({ claimName, request }) => {
      const record = this.#records.get(pod.metadata.namespace ?? '', claimName)
      if (record === undefined) throw new Error(`unable to get information for ResourceClaim ${claimName}`)
      return devicesFor(record, request).flatMap(({ device }) => device.cdiDeviceIds)
    })
    return [...new Set(ids)]
  }

  /** For those who ask what containers have. */
  claimsOf(pod: V1Pod, container: V1Container): ClaimRecord[] {
    const names = new Set(this.#requestsOf(pod, container).map(({ claimName }) => claimName))
    return [...names].flatMap((name) => this.#records.get(pod.metadata.namespace ?? '', name) ?? [])
  }

  healthOf(pod: V1Pod, container: V1Container): V1ResourceStatus[] {
    return this.#requestsOf(pod, container).flatMap(({ entry, claimName, request }) => {
      const record = entry === undefined ? undefined : this.#records.get(pod.metadata.namespace ?? '', claimName)
      if (record === undefined) return []
      const resources = new Map(
        devicesFor(record, request).map(({ driver, device }) => {
          const resourceID = device.cdiDeviceIds[0] ?? `${driver}/${device.poolName}/${device.deviceName}`
          const { health, message } = this.#healths.of(driver, device.poolName, device.deviceName)
          return [resourceID, { resourceID, health, ...omitEmpty({ message }) }]
        }),
      )
      if (resources.size === 0) return []
      return { name: `claim:${entry}${request === '' ? '' : `/${request}`}`, resources: [...resources.values()] }
    })
  }

  #requestsOf(pod: V1Pod, container: V1Container): { entry: string | undefined; claimName: string; request: string }[] {
    const asked = container.resources?.claims ?? []
    const named = asked.flatMap(({ name, request = '' }) => {
      const entry = pod.spec.resourceClaims?.find((each) => each.name === name)
      const claim = entry && claimOf(pod, entry)
      return claim ? { entry: name, claimName: claim.name, request } : []
    })
    const extended = pod.status?.extendedResourceClaimStatus
    const mapped = (extended?.requestMappings ?? []).filter(({ containerName }) => containerName === container.name)
    return [
      ...named,
      ...mapped.map(({ requestName }) => ({ entry: undefined, claimName: extended?.resourceClaimName ?? '', request: requestName })),
    ]
  }

  async #prepare(pod: V1Pod): Promise<void> {
    const { uid = '' } = pod.metadata
    const missing: ClaimRecord[] = []
    for (const claim of await this.#claimsFor(pod)) {
      const record = this.#recordFor(claim)
      for (const driver of record.drivers.keys()) this.drivers.get(driver)
      record.pods.add(uid)
      if (!record.isPrepared) missing.push(record)
    }
    // Written down before any driver is asked: whoever finds it later will have it undone.
    await this.#records.save()
    for (const [name, records] of byDriver(missing)) {
      const claims = records.map((record) => ({ namespace: record.namespace, uid: record.uid, name: record.name }))
      const answer = await this.drivers
        .get(name)
        .call('prepare', { claims })
        .catch((error: unknown): never => {
          throw new Error(`NodePrepareResources: ${errorMessage(error)}`)
        })
      for (const { key, value } of answer.claims) {
        const record = records.find((each) => each.uid === key)
        if (record === undefined) throw new Error(`NodePrepareResources returned result for unknown claim UID ${key}`)
        if (value?.error) throw new Error(`NodePrepareResources failed for ResourceClaim ${record.name}: ${value.error}`)
        record.drivers.set(name, value?.devices ?? [])
      }
      const skipped = records.length - answer.claims.length
      if (skipped !== 0) throw new Error(`NodePrepareResources skipped ${skipped} ResourceClaims`)
    }
    for (const record of missing) record.isPrepared = true
    await this.#records.save()
  }

  async #claimsFor(pod: V1Pod): Promise<V1ResourceClaim[]> {
    const { client } = this.#options
    const { name: podName = '', namespace = '', uid = '' } = pod.metadata
    const claims: V1ResourceClaim[] = []
    const fetch = async (name: string, mustBeOwn: boolean) => {
      const claim = await client.get(ResourceClaim, namespace, name).catch((error: unknown): never => {
        throw new Error(`fetch ResourceClaim ${name}: ${errorMessage(error)}`)
      })
      const isOwn = claim.metadata?.ownerReferences?.some((owner) => owner.controller && owner.uid === uid) ?? false
      if (mustBeOwn && !isOwn) {
        throw new Error(`ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName} (Pod is not owner)`)
      }
      if (!claim.status?.reservedFor?.some((each) => each.uid === uid)) {
        throw new Error(`pod ${podName} (${uid}) is not allowed to use ResourceClaim ${name} (${claim.metadata?.uid})`)
      }
      if (claim.status.allocation === undefined) throw new Error(`ResourceClaim ${name}: not allocated`)
      claims.push(claim)
    }
    for (const entry of pod.spec.resourceClaims ?? []) {
      const named = claimOf(pod, entry)
      if (named === undefined) throw new Error(`pod "${namespace}/${podName}": ResourceClaim not created yet`)
      if (named !== null) await fetch(named.name, named.isGenerated)
    }
    const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName
    if (extended !== undefined) await fetch(extended, false)
    return claims
  }

  #recordFor({ metadata, status }: V1ResourceClaim): ClaimRecord {
    const { namespace = '', name = '', uid = '' } = metadata ?? {}
    const known = this.#records.get(namespace, name)
    if (known !== undefined) {
      if (known.uid === uid) return known
      const words = `old ResourceClaim with same name ${name} and different UID ${known.uid} still exists`
      throw new Error(`${words} (previous pod force-deleted?!)`)
    }
    const drivers = (status?.allocation?.devices?.results ?? []).map(({ driver }) => [driver, []] as [string, DraDevice[]])
    const record: ClaimRecord = { namespace, name, uid, pods: new Set(), drivers: new Map(drivers), isPrepared: false }
    this.#records.add(record)
    return record
  }

  async #unprepare(podUid: string, namespace: string, names: readonly string[]): Promise<void> {
    const last: ClaimRecord[] = []
    for (const name of new Set(names)) {
      const record = this.#records.get(namespace, name)
      if (record === undefined || !record.pods.has(podUid)) continue
      if (record.pods.size > 1) record.pods.delete(podUid)
      else last.push(record)
    }
    for (const [name, records] of byDriver(last)) {
      const claims = records.map((record) => ({ namespace: record.namespace, uid: record.uid, name: record.name }))
      const answer = await this.drivers
        .get(name)
        .call('unprepare', { claims })
        .catch((error: unknown): never => {
          throw new Error(`NodeUnprepareResources: ${errorMessage(error)}`)
        })
      for (const { key, value } of answer.claims) {
        const record = records.find((each) => each.uid === key)
        if (record === undefined) throw new Error(`NodeUnprepareResources returned result for unknown claim UID ${key}`)
        if (value?.error) throw new Error(`NodeUnprepareResources failed for ResourceClaim ${record.name}: ${value.error}`)
      }
      const skipped = records.length - answer.claims.length
      if (skipped !== 0) throw new Error(`NodeUnprepareResources skipped ${skipped} ResourceClaims`)
    }
    for (const record of last) this.#records.remove(record)
    await this.#records.save()
  }

  async #reconcile(): Promise<void> {
    const active = new Set(this.#options.activePods().map(({ metadata }) => metadata.uid ?? ''))
    for (const { namespace, name, pods } of this.#records.all) {
      for (const uid of pods) {
        if (active.has(uid)) continue
        await this.#unprepare(uid, namespace, [name]).catch((error: unknown) =>
          this.#options.logger.warn('failed to unprepare a claim of a pod that is gone', { claim: name, error: errorMessage(error) }),
        )
      }
    }
  }

  #hearsHealth(driver: string, devices: DeviceHealth[] | undefined): void {
    const changed = this.#healths.update(driver, devices)
    if (changed.size === 0) return
    const holds = ({ drivers }: ClaimRecord) =>
      drivers.get(driver)?.some(({ poolName, deviceName }) => changed.has(`${poolName}/${deviceName}`)) ?? false
    for (const podUid of new Set(this.#records.all.filter(holds).flatMap(({ pods }) => [...pods]))) this.#options.onHealth(podUid)
  }

  async #timed(operation: string, act: () => Promise<void>): Promise<void> {
    const startedMs = this.#options.clock.now()
    let isError = true
    try {
      await act()
      isError = false
    } finally {
      const seconds = (this.#options.clock.now() - startedMs) / 1000
      this.#duration.observe(seconds, { operation_name: operation, is_error: String(isError) })
    }
  }
}

/** Of the devices, those that a request of the claim was given; all where none is named. */
function devicesFor({ drivers }: ClaimRecord, request: string): { driver: string; device: DraDevice }[] {
  // A request of several alternatives is named with the one that was chosen.
  const name = request.split('/', 1)[0] ?? ''
  const isMeant = ({ requestNames }: DraDevice) =>
    name === '' || requestNames.length === 0 || requestNames.some((each) => each === request || each.split('/', 1)[0] === name)
  return [...drivers].flatMap(([driver, devices]) => devices.filter(isMeant).map((device) => ({ driver, device })))
}

function byDriver(records: readonly ClaimRecord[]): Map<string, ClaimRecord[]> {
  const batches = new Map<string, ClaimRecord[]>()
  for (const record of records) for (const driver of record.drivers.keys()) batches.set(driver, [...(batches.get(driver) ?? []), record])
  return batches
}
