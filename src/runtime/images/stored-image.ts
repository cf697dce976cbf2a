/** An image as containers need it. */
export type StoredImage = {
  /** `sha256:…` of its configuration. */
  id: string
  repoTags: string[]
  repoDigests: string[]
  sizeBytes: number
  config: ImageConfig
  /** Directories, the lowest layer first. */
  layers: string[]
  /** Not to be removed for want of space. */
  isPinned: boolean
}

export type ImageConfig = {
  User?: string
  Env?: string[] | null
  Entrypoint?: string[] | null
  Cmd?: string[] | null
  WorkingDir?: string
  StopSignal?: string
}
