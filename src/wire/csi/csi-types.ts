/** The messages of CSI as values. Numbers and names are CSI's; absent fields have their zero. */

export type StringMap = Record<string, string>

export const accessModes = {
  singleNodeWriter: 1,
  singleNodeReaderOnly: 2,
  multiNodeReaderOnly: 3,
  multiNodeSingleWriter: 4,
  multiNodeMultiWriter: 5,
  singleNodeSingleWriter: 6,
  singleNodeMultiWriter: 7,
} as const

export const pluginServices = { controller: 1, accessibilityConstraints: 2, groupController: 3 } as const

export const controllerRpcs = {
  createDeleteVolume: 1,
  publishUnpublishVolume: 2,
  listVolumes: 3,
  getCapacity: 4,
  createDeleteSnapshot: 5,
  listSnapshots: 6,
  cloneVolume: 7,
  publishReadonly: 8,
  expandVolume: 9,
  listVolumesPublishedNodes: 10,
  volumeCondition: 11,
  getVolume: 12,
  singleNodeMultiWriter: 13,
  modifyVolume: 14,
} as const

export const nodeRpcs = {
  stageUnstageVolume: 1,
  getVolumeStats: 2,
  expandVolume: 3,
  volumeCondition: 4,
  singleNodeMultiWriter: 5,
  volumeMountGroup: 6,
} as const

export const usageUnits = { bytes: 1, inodes: 2 } as const

export type Empty = Record<never, never>
export type Capability = { rpc?: { type: number } }
export type Topology = { segments: StringMap }
export type CapacityRange = { requiredBytes?: number; limitBytes?: number }

export type VolumeCapability = {
  block?: Empty
  mount?: { fsType?: string; mountFlags?: string[]; volumeMountGroup?: string }
  accessMode?: { mode: number }
}

export type ContentSource = { snapshot?: { snapshotId: string }; volume?: { volumeId: string } }

export type CsiVolume = {
  capacityBytes?: number
  volumeId: string
  volumeContext?: StringMap
  contentSource?: ContentSource
  accessibleTopology?: Topology[]
}

export type VolumeCondition = { abnormal: boolean; message: string }

export type CsiSnapshot = {
  sizeBytes?: number
  snapshotId: string
  sourceVolumeId: string
  creationTime?: { seconds: number; nanos?: number }
  readyToUse: boolean
}

type Id = { volumeId: string }
type Secrets = { secrets?: StringMap }

/** Every method this program calls or answers: what it takes, and what it gives. */
export type CsiCalls = {
  getPluginInfo: [Empty, { name: string; vendorVersion?: string }]
  getPluginCapabilities: [Empty, { capabilities: { service?: { type: number }; volumeExpansion?: { type: number } }[] }]
  probe: [Empty, { ready?: { value: boolean } }]
  createVolume: [
    Secrets & {
      name: string
      capacityRange?: CapacityRange
      volumeCapabilities: VolumeCapability[]
      parameters?: StringMap
      volumeContentSource?: ContentSource
      accessibilityRequirements?: { requisite: Topology[]; preferred: Topology[] }
      mutableParameters?: StringMap
    },
    { volume?: CsiVolume },
  ]
  deleteVolume: [Id & Secrets, Empty]
  controllerPublishVolume: [
    Id & Secrets & { nodeId: string; volumeCapability: VolumeCapability; readonly?: boolean; volumeContext?: StringMap },
    { publishContext: StringMap },
  ]
  controllerUnpublishVolume: [Id & Secrets & { nodeId: string }, Empty]
  controllerGetVolume: [Id, { volume?: CsiVolume; status?: { publishedNodeIds: string[]; volumeCondition?: VolumeCondition } }]
  controllerModifyVolume: [Id & Secrets & { mutableParameters: StringMap }, Empty]
  getCapacity: [
    { volumeCapabilities?: VolumeCapability[]; parameters?: StringMap; accessibleTopology?: Topology },
    { availableCapacity: number; maximumVolumeSize?: { value: number }; minimumVolumeSize?: { value: number } },
  ]
  controllerGetCapabilities: [Empty, { capabilities: Capability[] }]
  createSnapshot: [Secrets & { sourceVolumeId: string; name: string; parameters?: StringMap }, { snapshot?: CsiSnapshot }]
  deleteSnapshot: [Secrets & { snapshotId: string }, Empty]
  listSnapshots: [
    Secrets & { maxEntries?: number; startingToken?: string; sourceVolumeId?: string; snapshotId?: string },
    { entries: { snapshot?: CsiSnapshot }[]; nextToken?: string },
  ]
  controllerExpandVolume: [
    Id & Secrets & { capacityRange: CapacityRange; volumeCapability?: VolumeCapability },
    { capacityBytes: number; nodeExpansionRequired: boolean },
  ]
  nodeStageVolume: [
    Id & Secrets & { publishContext?: StringMap; stagingTargetPath: string; volumeCapability: VolumeCapability; volumeContext?: StringMap },
    Empty,
  ]
  nodeUnstageVolume: [Id & { stagingTargetPath: string }, Empty]
  nodePublishVolume: [
    Id &
      Secrets & {
        publishContext?: StringMap
        stagingTargetPath?: string
        targetPath: string
        volumeCapability: VolumeCapability
        readonly?: boolean
        volumeContext?: StringMap
      },
    Empty,
  ]
  nodeUnpublishVolume: [Id & { targetPath: string }, Empty]
  nodeGetVolumeStats: [
    Id & { volumePath: string; stagingTargetPath?: string },
    { usage: { available: number; total: number; used: number; unit: number }[]; volumeCondition?: VolumeCondition },
  ]
  nodeExpandVolume: [
    Id & Secrets & { volumePath: string; capacityRange: CapacityRange; stagingTargetPath?: string; volumeCapability?: VolumeCapability },
    { capacityBytes: number },
  ]
  nodeGetCapabilities: [Empty, { capabilities: Capability[] }]
  nodeGetInfo: [Empty, { nodeId: string; maxVolumesPerNode?: number; accessibleTopology?: Topology }]
}

export type CsiMethodName = keyof CsiCalls
export type CsiRequest<Name extends CsiMethodName> = CsiCalls[Name][0]
export type CsiResponse<Name extends CsiMethodName> = CsiCalls[Name][1]
