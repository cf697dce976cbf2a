/** Numbers of the kernel's interface that are the same on x86-64 and arm64. */

export const cloneFlags = {
  files: 0x400,
  parent: 0x8000,
  newMount: 0x20000,
  newCgroup: 0x2000000,
  newUts: 0x4000000,
  newIpc: 0x8000000,
  newUser: 0x10000000,
  newPid: 0x20000000,
  newNet: 0x40000000,
} as const
export const sigChild = 17
export const mountFlags = {
  readOnly: 1,
  noSuid: 2,
  noDev: 4,
  noExec: 8,
  remount: 32,
  bind: 0x1000,
  recursive: 0x4000,
  private: 1 << 18,
  slave: 1 << 19,
  shared: 1 << 20,
  relatime: 1 << 21,
  strictTime: 1 << 24,
} as const
export const openFlags = {
  readOnly: 0,
  writeOnly: 1,
  readWrite: 2,
  create: 0o100,
  append: 0o2000,
  noControllingTerminal: 0o400,
  closeOnExec: 0o2000000,
} as const
export const here = -100
export const openTreeFlags = { clone: 1, closeOnExec: openFlags.closeOnExec, recursive: 0x8000 } as const
/** The source is a descriptor and no path; links in the target are followed. */
export const moveMountFlags = { emptyFrom: 0x4, followTarget: 0x10 } as const
export const controls = {
  setDumpable: 4,
  keepCapabilities: 8,
  setName: 15,
  dropBounding: 24,
  setNoNewPrivileges: 38,
  ambient: 47,
  ambientRaise: 2,
} as const
export const terminalCalls = { unlock: 0x40045431, openPeer: 0x5441, takeOver: 0x540e, setSize: 0x5414 } as const
export const lastDescriptor = 0xffffffff
