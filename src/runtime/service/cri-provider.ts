import type { GrpcError } from '#base/grpc.ts'
import type { CriService } from '#runtime/service/cri-service.ts'
import type { ContainerEvent } from '#wire/cri/cri-messages.ts'

/** Whatever does what CRI asks for, in this process. */
export type CriProvider = {
  readonly service: CriService
  /** `onEnd`: events may have been missed, and no more come. */
  onEvent(listener: (event: ContainerEvent) => void, onEnd?: (error: GrpcError) => void): Disposable
  /** From an archive on this machine; resolves with the names of the images that came in. */
  importImages(archiveFile: string, onProgress?: (doneBytes: number, totalBytes: number) => void): Promise<string[]>
}
