package export_tidegate_plugin_tools

import (
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// openFile opens a regular file of the workspace. The host decides what may be read.
//
// It asks WASI itself: package os looks relative paths up by the names of the granted folders, and
// does not take the workspace's, which is `.`, for what all of them are relative to.
func openFile(name string) (*os.File, int64, error) {
	folder, below, isGranted := covering(name)
	if !isGranted {
		return nil, 0, readDenied
	}
	var descriptor int32
	code := pathOpen(folder, followLinks, unsafe.StringData(below), uint32(len(below)), 0, readRights, 0, 0, &descriptor)
	if code != 0 {
		return nil, 0, whyNotOpened(syscall.Errno(code))
	}
	file := os.NewFile(uintptr(descriptor), "file")
	status, err := file.Stat()
	switch {
	case err != nil:
		err = readFailed
	case !status.Mode().IsRegular():
		err = notAFile
	case status.Size() > maxFileBytes:
		err = tooLarge
	default:
		return file, status.Size(), nil
	}
	file.Close()
	return nil, 0, err
}

func whyNotOpened(code syscall.Errno) error {
	switch code {
	case syscall.ENOENT, syscall.ENOTDIR:
		return notFound
	case syscall.EACCES, syscall.EPERM, syscall.ENOTCAPABLE:
		return readDenied
	case syscall.EISDIR, syscall.ENOTSUP:
		return notAFile
	}
	return readFailed
}

// The first descriptor that can be a granted folder; those below are the standard streams.
const firstFolder = 3

// The longest name of a granted folder, in bytes.
const maxFolderName = 4096

// covering finds the granted folder that covers a path most closely, and the path below it.
func covering(name string) (folder int32, below string, isGranted bool) {
	var entry prestat
	for at := int32(firstFolder); prestatGet(at, &entry.kind) == 0; at++ {
		if entry.kind != 0 || entry.nameBytes > maxFolderName {
			continue
		}
		buffer := make([]byte, max(entry.nameBytes, 1))
		if prestatName(at, &buffer[0], entry.nameBytes) != 0 {
			continue
		}
		granted := string(buffer[:entry.nameBytes])
		rest, isBelow := strings.CutPrefix(name, granted+"/")
		if granted == "." {
			rest, isBelow = name, true
		}
		if isBelow && (!isGranted || len(rest) < len(below)) {
			folder, below, isGranted = at, rest, true
		}
	}
	return folder, below, isGranted
}

// prestat is what WASI writes about a granted folder: its kind, and how long its name is.
type prestat struct {
	kind      uint32
	nameBytes uint32
}

// followLinks is a flag of path_open: a link at the end of the path is followed, inside the folder.
const followLinks = 1

// readRights are those to read, to seek and tell, and to ask for the status.
const readRights = 1<<1 | 1<<2 | 1<<5 | 1<<21

//go:wasmimport wasi_snapshot_preview1 fd_prestat_get
//go:noescape
func prestatGet(descriptor int32, entry *uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_prestat_dir_name
//go:noescape
func prestatName(descriptor int32, name *byte, length uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_open
//go:noescape
func pathOpen(folder int32, lookup uint32, path *byte, length uint32, flags uint32, rights, inherited uint64, status uint32, descriptor *int32) uint32
