# The C library: `make` builds it, `make install PREFIX=/usr/local` installs header, libraries and the
# pkg-config file, `make check` tests it. Rust users need none of this.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
CARGO ?= cargo
# Such as `testing`, for the API server inside the process.
FEATURES ?=

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# While the first number is 0, the second one says what is compatible.
ABI := $(shell echo $(VERSION) | awk -F. '{ print ($$1 > 0) ? $$1 : $$1 "." $$2 }')
# Apart from the rest, so that the features of one build do not undo another.
TARGET_DIR ?= target/capi
OUT := $(TARGET_DIR)/release

ifeq ($(shell uname -s),Darwin)
SHARED := libkinformer.$(VERSION).dylib
SONAME := libkinformer.$(ABI).dylib
PLAIN := libkinformer.dylib
LINK := -C link-arg=-Wl,-install_name,$(LIBDIR)/$(SONAME)
else
SHARED := libkinformer.so.$(VERSION)
SONAME := libkinformer.so.$(ABI)
PLAIN := libkinformer.so
LINK := -C link-arg=-Wl,-soname,$(SONAME)
endif

.PHONY: all build install uninstall check clean

all: build

# Without debug information, which is most of what the libraries would weigh.
build:
	CARGO_PROFILE_RELEASE_DEBUG=false CARGO_PROFILE_RELEASE_STRIP=debuginfo $(CARGO) rustc --release --lib --target-dir $(TARGET_DIR) --no-default-features \
	    --features "capi $(FEATURES)" --crate-type cdylib,staticlib -- $(LINK)
	cd $(OUT) && ln -sf $(PLAIN) $(SONAME)

$(TARGET_DIR)/kinformer.pc: kinformer.pc.in Cargo.toml
	mkdir -p $(TARGET_DIR)
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' $< >$@

install: build
	rm -f $(TARGET_DIR)/kinformer.pc && $(MAKE) --no-print-directory $(TARGET_DIR)/kinformer.pc
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	install -m 644 include/kinformer.h $(DESTDIR)$(INCLUDEDIR)/
	install -m 755 $(OUT)/$(PLAIN) $(DESTDIR)$(LIBDIR)/$(SHARED)
	install -m 644 $(OUT)/libkinformer.a $(DESTDIR)$(LIBDIR)/
	ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/$(PLAIN)
	install -m 644 $(TARGET_DIR)/kinformer.pc $(DESTDIR)$(LIBDIR)/pkgconfig/

uninstall:
	rm -f $(DESTDIR)$(INCLUDEDIR)/kinformer.h $(DESTDIR)$(LIBDIR)/pkgconfig/kinformer.pc \
	    $(addprefix $(DESTDIR)$(LIBDIR)/,$(SHARED) $(SONAME) $(PLAIN) libkinformer.a)

check:
	tests/c/run

clean:
	rm -rf $(TARGET_DIR)
