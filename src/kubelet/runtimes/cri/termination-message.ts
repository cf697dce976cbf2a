/** A container's last words: what it wrote into its message file, or the end of its log. */
import { type Files, hasCode } from '#base/files.ts'
import { containerAnnotation } from '#kubelet/runtimes/cri/labels.ts'
import type { CriContainerStatus } from '#wire/cri/cri-types.ts'

const maxFileBytes = 4096
const maxLogBytes = 2048
const maxLogLines = 80

export async function terminationMessage(status: CriContainerStatus, files: Pick<Files, 'open'>): Promise<string> {
  const { annotations, exitCode, reason } = status
  const written = await messageInFile(status, files)
  if (written !== '') return written
  const policy = annotations[containerAnnotation.terminationMessagePolicy]
  const fallsBack = policy === 'FallbackToLogsOnError' && exitCode !== 0 && reason !== 'ContainerCannotRun'
  return fallsBack ? endOfLog(status.logPath, files) : ''
}

async function messageInFile({ annotations, mounts }: CriContainerStatus, files: Pick<Files, 'open'>): Promise<string> {
  const path = annotations[containerAnnotation.terminationMessagePath] ?? ''
  const file =
    annotations[containerAnnotation.terminationMessageFile] ??
    (path === '' ? undefined : mounts.find((mount) => mount.containerPath === path)?.hostPath)
  if (file === undefined || file === '') return ''
  try {
    await using open = await files.open(file, 'r')
    const sizeBytes = await open.sizeBytes()
    return Buffer.from(await open.readAt(Math.max(0, sizeBytes - maxFileBytes), maxFileBytes)).toString()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return ''
    return `Error on reading termination log ${file}: ${error instanceof Error ? error.message : error}`
  }
}

async function endOfLog(path: string, files: Pick<Files, 'open'>): Promise<string> {
  try {
    await using open = await files.open(path, 'r')
    const sizeBytes = await open.sizeBytes()
    // A line of the log has some forty bytes before its text.
    const wanted = Math.min(sizeBytes, maxLogBytes + maxLogLines * 64)
    const text = Buffer.from(await open.readAt(sizeBytes - wanted, wanted)).toString()
    const lines = text.split('\n').filter((line) => line !== '')
    if (wanted < sizeBytes) lines.shift()
    const said = Buffer.from(lines.slice(-maxLogLines).map(textOfLogLine).join(''))
    return said.subarray(Math.max(0, said.length - maxLogBytes)).toString()
  } catch (error) {
    return `Error on reading termination message from logs: ${error instanceof Error ? error.message : error}`
  }
}

/** `time stream tag text`; only lines tagged as full end in a line break. */
function textOfLogLine(line: string): string {
  const [, , tag = 'F'] = line.split(' ', 3)
  const text = line.replace(/^(?:\S+ ){3}/, '')
  return tag.startsWith('P') ? text : `${text}\n`
}
