/** Which devices each container has, and what it was given with them; written down as it changes. */
import type { Files } from '#base/files.ts'
import { CheckpointFile } from '#kubelet/checkpoint-file.ts'
import { type ContainerAllocation, decodeAllocation, encodeAllocation } from '#wire/kubelet/device-plugin-messages.ts'

/** Ids by NUMA node; those that are near none are under -1. */
export type DevicesByNode = Record<string, string[]>

export type DeviceRecord = { podUid: string; container: string; resource: string; devices: DevicesByNode; allocation: ContainerAllocation }

type Written = {
  Data: {
    PodDeviceEntries: { PodUID: string; ContainerName: string; ResourceName: string; DeviceIDs: DevicesByNode; AllocResp: string }[] | null
    RegisteredDevices: Record<string, string[]>
  }
}

export const nearNoNode = -1

export const idsIn = (devices: DevicesByNode): Set<string> => new Set(Object.values(devices).flat())

export class DeviceRecords {
  readonly #file: CheckpointFile<Written>
  #records: DeviceRecord[] = []

  constructor(files: Files, path: string) {
    this.#file = new CheckpointFile(files, path, { sumField: 'Checksum' })
  }

  /** Resolves with the names of the resources that plugins had registered; undefined where nothing was written down. */
  async load(): Promise<string[] | undefined> {
    const written = await this.#file.read()
    if (written === undefined) return undefined
    this.#records = (written.Data.PodDeviceEntries ?? []).map(({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp }) => ({
      ...{ podUid: PodUID, container: ContainerName, resource: ResourceName, devices: DeviceIDs },
      allocation: decodeAllocation(Buffer.from(AllocResp, 'base64')),
    }))
    return Object.keys(written.Data.RegisteredDevices)
  }

  save(healthy: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
    return this.#file.write({
      Data: {
        PodDeviceEntries: this.#records.map(({ podUid, container, resource, devices, allocation }) => ({
          ...{ PodUID: podUid, ContainerName: container, ResourceName: resource, DeviceIDs: devices },
          AllocResp: Buffer.from(encodeAllocation(allocation)).toString('base64'),
        })),
        RegisteredDevices: Object.fromEntries([...healthy].map(([resource, ids]) => [resource, [...ids]])),
      },
    })
  }

  /** Resolves when nothing is being written. */
  settled(): Promise<void> {
    return this.#file.settled()
  }

  add(record: DeviceRecord): void {
    this.#records.push(record)
  }

  ofContainer(podUid: string, container: string): DeviceRecord[] {
    return this.#records.filter((record) => record.podUid === podUid && record.container === container)
  }

  /** Undefined where it has none. */
  idsOf(podUid: string, container: string, resource: string): ReadonlySet<string> | undefined {
    const found = this.ofContainer(podUid, container).find((record) => record.resource === resource)
    return found && idsIn(found.devices)
  }

  idsOfPod(podUid: string, resource: string): ReadonlySet<string> {
    return new Set(
      this.#records
        .filter((record) => record.podUid === podUid && record.resource === resource)
        .flatMap(({ devices }) => [...idsIn(devices)]),
    )
  }

  /** All that are in use. */
  idsInUse(resource: string): Set<string> {
    return new Set(this.#records.filter((record) => record.resource === resource).flatMap(({ devices }) => [...idsIn(devices)]))
  }

  podsWith(resource: string, ids: ReadonlySet<string>): Set<string> {
    const holds = ({ devices }: DeviceRecord) => !idsIn(devices).isDisjointFrom(ids)
    return new Set(this.#records.filter((record) => record.resource === resource && holds(record)).map(({ podUid }) => podUid))
  }

  has(resource: string): boolean {
    return this.#records.some((record) => record.resource === resource)
  }

  /** Resolves true where there was something to forget. */
  keepOnly(isActive: (podUid: string) => boolean): boolean {
    const kept = this.#records.filter(({ podUid }) => isActive(podUid))
    const isLess = kept.length < this.#records.length
    this.#records = kept
    return isLess
  }
}
