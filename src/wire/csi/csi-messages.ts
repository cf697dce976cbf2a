/** The methods of CSI v1 that this program speaks, from both sides. Numbers and names are CSI's. */
import type { CsiMethodName, CsiRequest, CsiResponse } from '#wire/csi/csi-types.ts'
import { type GrpcMethod, grpcMethod } from '#wire/grpc-method.ts'
import { describeMessages, type MessageType } from '#wire/protobuf-messages.ts'

const types = describeMessages({
  Empty: '',
  Type: 'type:1:int',
  Rpc: 'rpc:1:Type',
  Rpcs: 'capabilities:1:Rpc[]',
  Flag: 'value:1:bool',
  Value: 'value:1:int',
  PluginInfo: 'name:1:string vendorVersion:2:string manifest:3:map',
  PluginCapability: 'service:1:Type volumeExpansion:2:Type',
  PluginCapabilities: 'capabilities:1:PluginCapability[]',
  ProbeResponse: 'ready:1:Flag',
  CapacityRange: 'requiredBytes:1:int limitBytes:2:int',
  MountVolume: 'fsType:1:string mountFlags:2:string[] volumeMountGroup:3:string',
  AccessMode: 'mode:1:int',
  VolumeCapability: 'block:1:Empty mount:2:MountVolume accessMode:3:AccessMode',
  SnapshotSource: 'snapshotId:1:string',
  VolumeSource: 'volumeId:1:string',
  ContentSource: 'snapshot:1:SnapshotSource volume:2:VolumeSource',
  Topology: 'segments:1:map',
  TopologyRequirement: 'requisite:1:Topology[] preferred:2:Topology[]',
  CreateVolumeRequest:
    'name:1:string capacityRange:2:CapacityRange volumeCapabilities:3:VolumeCapability[] parameters:4:map secrets:5:map ' +
    'volumeContentSource:6:ContentSource accessibilityRequirements:7:TopologyRequirement mutableParameters:8:map',
  Volume: 'capacityBytes:1:int volumeId:2:string volumeContext:3:map contentSource:4:ContentSource accessibleTopology:5:Topology[]',
  CreateVolumeResponse: 'volume:1:Volume',
  DeleteVolumeRequest: 'volumeId:1:string secrets:2:map',
  ControllerPublishVolumeRequest:
    'volumeId:1:string nodeId:2:string volumeCapability:3:VolumeCapability readonly:4:bool secrets:5:map volumeContext:6:map',
  ControllerPublishVolumeResponse: 'publishContext:1:map',
  ControllerUnpublishVolumeRequest: 'volumeId:1:string nodeId:2:string secrets:3:map',
  ControllerGetVolumeRequest: 'volumeId:1:string',
  VolumeCondition: 'abnormal:1:bool message:2:string',
  VolumeStatus: 'publishedNodeIds:1:string[] volumeCondition:2:VolumeCondition',
  ControllerGetVolumeResponse: 'volume:1:Volume status:2:VolumeStatus',
  ControllerModifyVolumeRequest: 'volumeId:1:string secrets:2:map mutableParameters:3:map',
  GetCapacityRequest: 'volumeCapabilities:1:VolumeCapability[] parameters:2:map accessibleTopology:3:Topology',
  GetCapacityResponse: 'availableCapacity:1:int maximumVolumeSize:2:Value minimumVolumeSize:3:Value',
  CreateSnapshotRequest: 'sourceVolumeId:1:string name:2:string secrets:3:map parameters:4:map',
  Timestamp: 'seconds:1:int nanos:2:int',
  Snapshot:
    'sizeBytes:1:int snapshotId:2:string sourceVolumeId:3:string creationTime:4:Timestamp readyToUse:5:bool groupSnapshotId:6:string',
  CreateSnapshotResponse: 'snapshot:1:Snapshot',
  DeleteSnapshotRequest: 'snapshotId:1:string secrets:2:map',
  ListSnapshotsRequest: 'maxEntries:1:int startingToken:2:string sourceVolumeId:3:string snapshotId:4:string secrets:5:map',
  SnapshotEntry: 'snapshot:1:Snapshot',
  ListSnapshotsResponse: 'entries:1:SnapshotEntry[] nextToken:2:string',
  ControllerExpandVolumeRequest: 'volumeId:1:string capacityRange:2:CapacityRange secrets:3:map volumeCapability:4:VolumeCapability',
  ControllerExpandVolumeResponse: 'capacityBytes:1:int nodeExpansionRequired:2:bool',
  NodeStageVolumeRequest:
    'volumeId:1:string publishContext:2:map stagingTargetPath:3:string volumeCapability:4:VolumeCapability secrets:5:map volumeContext:6:map',
  NodeUnstageVolumeRequest: 'volumeId:1:string stagingTargetPath:2:string',
  NodePublishVolumeRequest:
    'volumeId:1:string publishContext:2:map stagingTargetPath:3:string targetPath:4:string volumeCapability:5:VolumeCapability ' +
    'readonly:6:bool secrets:7:map volumeContext:8:map',
  NodeUnpublishVolumeRequest: 'volumeId:1:string targetPath:2:string',
  NodeGetVolumeStatsRequest: 'volumeId:1:string volumePath:2:string stagingTargetPath:3:string',
  VolumeUsage: 'available:1:int total:2:int used:3:int unit:4:int',
  NodeGetVolumeStatsResponse: 'usage:1:VolumeUsage[] volumeCondition:2:VolumeCondition',
  NodeExpandVolumeRequest:
    'volumeId:1:string volumePath:2:string capacityRange:3:CapacityRange stagingTargetPath:4:string volumeCapability:5:VolumeCapability secrets:6:map',
  NodeExpandVolumeResponse: 'capacityBytes:1:int',
  NodeGetInfoResponse: 'nodeId:1:string maxVolumesPerNode:2:int accessibleTopology:3:Topology',
})

type Service = 'Identity' | 'Controller' | 'Node'

const method = <Name extends CsiMethodName>(
  service: Service,
  name: Name,
  request: MessageType,
  response: MessageType,
): GrpcMethod<CsiRequest<Name>, CsiResponse<Name>> =>
  grpcMethod(`/csi.v1.${service}/${name.charAt(0).toUpperCase()}${name.slice(1)}`, request, response)

export const csiMethods: { readonly [Name in CsiMethodName]: GrpcMethod<CsiRequest<Name>, CsiResponse<Name>> } = {
  getPluginInfo: method('Identity', 'getPluginInfo', types.Empty, types.PluginInfo),
  getPluginCapabilities: method('Identity', 'getPluginCapabilities', types.Empty, types.PluginCapabilities),
  probe: method('Identity', 'probe', types.Empty, types.ProbeResponse),
  createVolume: method('Controller', 'createVolume', types.CreateVolumeRequest, types.CreateVolumeResponse),
  deleteVolume: method('Controller', 'deleteVolume', types.DeleteVolumeRequest, types.Empty),
  controllerPublishVolume: method(
    'Controller',
    'controllerPublishVolume',
    types.ControllerPublishVolumeRequest,
    types.ControllerPublishVolumeResponse,
  ),
  controllerUnpublishVolume: method('Controller', 'controllerUnpublishVolume', types.ControllerUnpublishVolumeRequest, types.Empty),
  controllerGetVolume: method('Controller', 'controllerGetVolume', types.ControllerGetVolumeRequest, types.ControllerGetVolumeResponse),
  controllerModifyVolume: method('Controller', 'controllerModifyVolume', types.ControllerModifyVolumeRequest, types.Empty),
  getCapacity: method('Controller', 'getCapacity', types.GetCapacityRequest, types.GetCapacityResponse),
  controllerGetCapabilities: method('Controller', 'controllerGetCapabilities', types.Empty, types.Rpcs),
  createSnapshot: method('Controller', 'createSnapshot', types.CreateSnapshotRequest, types.CreateSnapshotResponse),
  deleteSnapshot: method('Controller', 'deleteSnapshot', types.DeleteSnapshotRequest, types.Empty),
  listSnapshots: method('Controller', 'listSnapshots', types.ListSnapshotsRequest, types.ListSnapshotsResponse),
  controllerExpandVolume: method(
    'Controller',
    'controllerExpandVolume',
    types.ControllerExpandVolumeRequest,
    types.ControllerExpandVolumeResponse,
  ),
  nodeStageVolume: method('Node', 'nodeStageVolume', types.NodeStageVolumeRequest, types.Empty),
  nodeUnstageVolume: method('Node', 'nodeUnstageVolume', types.NodeUnstageVolumeRequest, types.Empty),
  nodePublishVolume: method('Node', 'nodePublishVolume', types.NodePublishVolumeRequest, types.Empty),
  nodeUnpublishVolume: method('Node', 'nodeUnpublishVolume', types.NodeUnpublishVolumeRequest, types.Empty),
  nodeGetVolumeStats: method('Node', 'nodeGetVolumeStats', types.NodeGetVolumeStatsRequest, types.NodeGetVolumeStatsResponse),
  nodeExpandVolume: method('Node', 'nodeExpandVolume', types.NodeExpandVolumeRequest, types.NodeExpandVolumeResponse),
  nodeGetCapabilities: method('Node', 'nodeGetCapabilities', types.Empty, types.Rpcs),
  nodeGetInfo: method('Node', 'nodeGetInfo', types.Empty, types.NodeGetInfoResponse),
}
