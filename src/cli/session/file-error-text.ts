/** Why a file could not be read or written, in Go's words. */
export function fileErrorText(error: unknown): string {
  const { code, path, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return `open ${path}: no such file or directory`
  if (code === 'EACCES') return `open ${path}: permission denied`
  if (code === 'EISDIR') return `read ${path}: is a directory`
  return message
}
