/** Claims that were prepared on this node, with the devices they stand for; written down as they change. */

import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Files } from '#base/files.ts'
import type { DraClaim, DraDevice } from '#wire/kubelet/dra-messages.ts'

export type ClaimRecord = DraClaim & {
  /** Pods that use it. */
  pods: Set<string>
  /** By driver. Those that were given no device are there as well. */
  drivers: Map<string, DraDevice[]>
  /** By this run of the agent; drivers are asked again after a restart, and answer the same. */
  isPrepared: boolean
}

/** As upstream writes it. */
type WrittenClaim = {
  ClaimUID: string
  ClaimName: string
  Namespace: string
  PodUIDs: Record<string, object>
  DriverState: Record<string, { Devices: WrittenDevice[] | null }>
}
type WrittenDevice = {
  PoolName: string
  DeviceName: string
  ShareID: string | null
  RequestNames: string[] | null
  CDIDeviceIDs: string[] | null
}

const head = { kind: 'DRACheckpoint', apiVersion: 'checkpoint.dra.kubelet.k8s.io/v1' }

export class ClaimRecords {
  readonly #files: Files
  readonly #path: string
  readonly #records = new Map<string, ClaimRecord>()
  #last: Promise<void> = Promise.resolve()

  constructor(files: Files, path: string) {
    this.#files = files
    this.#path = path
  }

  /** Throws when what was written down is damaged. */
  async load(): Promise<void> {
    const text = await this.#files.readTextIfPresent(this.#path)
    if (text === undefined || text === '') return
    const { Data, Checksum } = JSON.parse(text) as { Data: string; Checksum: number }
    if (crc32(Data) !== Checksum) {
      throw new Error(`checkpoint ${this.#path} is corrupted, please drain node and remove DRA state file`)
    }
    for (const each of (JSON.parse(Data) as { ClaimInfoStateList: WrittenClaim[] | null }).ClaimInfoStateList ?? []) {
      this.add({
        ...{ namespace: each.Namespace, uid: each.ClaimUID, name: each.ClaimName, isPrepared: false },
        pods: new Set(Object.keys(each.PodUIDs)),
        drivers: new Map(Object.entries(each.DriverState).map(([driver, { Devices }]) => [driver, (Devices ?? []).map(readDevice)])),
      })
    }
  }

  save(): Promise<void> {
    const list = [...this.#records.values()].map(
      ({ namespace, uid, name, pods, drivers }): WrittenClaim => ({
        ...{ ClaimUID: uid, ClaimName: name, Namespace: namespace },
        PodUIDs: Object.fromEntries([...pods].map((pod) => [pod, {}])),
        DriverState: Object.fromEntries([...drivers].map(([driver, devices]) => [driver, { Devices: devices.map(writtenDevice) }])),
      }),
    )
    const data = JSON.stringify({ ...head, ClaimInfoStateList: list })
    const text = JSON.stringify({ Data: data, Checksum: crc32(data) })
    this.#last = this.#last
      .catch(() => {})
      .then(async () => {
        await this.#files.makeDirectory(dirname(this.#path), { mode: 0o750 })
        await this.#files.write(this.#path, text)
      })
    return this.#last
  }

  settled(): Promise<void> {
    return this.#last.catch(() => {})
  }

  get all(): ClaimRecord[] {
    return [...this.#records.values()]
  }

  get(namespace: string, name: string): ClaimRecord | undefined {
    return this.#records.get(`${namespace}/${name}`)
  }

  add(record: ClaimRecord): void {
    this.#records.set(`${record.namespace}/${record.name}`, record)
  }

  remove({ namespace, name }: DraClaim): void {
    this.#records.delete(`${namespace}/${name}`)
  }
}

const readDevice = ({ PoolName, DeviceName, ShareID, RequestNames, CDIDeviceIDs }: WrittenDevice): DraDevice => ({
  ...{ poolName: PoolName, deviceName: DeviceName, shareId: ShareID ?? '' },
  requestNames: RequestNames ?? [],
  cdiDeviceIds: CDIDeviceIDs ?? [],
})

const writtenDevice = ({ poolName, deviceName, shareId, requestNames, cdiDeviceIds }: DraDevice): WrittenDevice => ({
  ...{ PoolName: poolName, DeviceName: deviceName, ShareID: shareId || null, RequestNames: requestNames, CDIDeviceIDs: cdiDeviceIds },
})
