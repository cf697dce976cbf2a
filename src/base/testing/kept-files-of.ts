import type { KeptFiles } from '#base/kept-kernel-files.ts'

/** Files of the kernel as a test makes them up. */
export function keptFilesOf(read: (path: string) => string | undefined): KeptFiles {
  return {
    file: (path) => ({
      text: () => read(path),
      number() {
        const text = read(path)
        return text === undefined || !/^\d+\s*$/.test(text) ? undefined : Number(text)
      },
    }),
  }
}
