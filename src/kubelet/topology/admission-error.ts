/** Why a node does not take a pod, with the reason that its status shows. */
export class AdmissionError extends Error {
  override name = 'AdmissionError'
  readonly reason: string

  constructor(reason: string, message: string) {
    super(message)
    this.reason = reason
  }
}
