/** How plugins make themselves known to a kubelet (pluginregistration v1). */
import { decodeMessage, describeMessages, encodeMessage } from '#wire/protobuf-messages.ts'

const types = describeMessages({
  Empty: '',
  PluginInfo: 'type:1:string name:2:string endpoint:3:string supportedVersions:4:string[]',
  RegistrationStatus: 'pluginRegistered:1:bool error:2:string',
})

export type PluginInfo = { type: string; name: string; endpoint: string; supportedVersions: string[] }
export type RegistrationStatus = { pluginRegistered: boolean; error: string }

export const getInfoMethod = '/pluginregistration.Registration/GetInfo'
export const notifyMethod = '/pluginregistration.Registration/NotifyRegistrationStatus'

export const encodeInfoRequest = (): Uint8Array => encodeMessage(types.Empty, {})
export const encodePluginInfo = (info: PluginInfo): Uint8Array => encodeMessage(types.PluginInfo, info)
export const decodePluginInfo = (bytes: Uint8Array): PluginInfo => decodeMessage(types.PluginInfo, bytes) as PluginInfo
export const encodeRegistrationStatus = (status: RegistrationStatus): Uint8Array => encodeMessage(types.RegistrationStatus, status)
export const decodeRegistrationStatus = (bytes: Uint8Array): RegistrationStatus =>
  decodeMessage(types.RegistrationStatus, bytes) as RegistrationStatus
