/** A volume could not be given to a pod, in the words of an event about the pod. */
export class MountFailure extends Error {
  override name = 'MountFailure'
  readonly reason: 'FailedMount' | 'FailedMapVolume' | 'FailedAttachVolume'

  constructor(reason: MountFailure['reason'], message: string, cause: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}
