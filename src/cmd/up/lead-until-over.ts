import type { Stage } from '#base/lifecycle.ts'

type Opened = { follow(signal: AbortSignal): Promise<void>; lead(signal: AbortSignal): Promise<void>; stop(): unknown }

/** Lets a part do its work without an election: nobody else can lead inside this process. Resolves when it knows the cluster. */
export async function leadUntilOver(stage: Stage, opened: Opened): Promise<void> {
  stage.defer(() => opened.stop())
  await opened.follow(stage.signal)
  const isOver = new AbortController()
  const leading = opened.lead(isOver.signal)
  stage.defer(async () => {
    isOver.abort()
    await leading
  })
}
